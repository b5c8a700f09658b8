// What the components need of the API: pages one after another, creates with a file, deletes.
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { createSplashPage, deleteSplashPage, listSplashPages } from "./client";
import type { ErrorEnvelope, SplashPage, SplashPageCreate } from "./client";

const PAGES = ["splash-pages"];
const SIZE = 10;

/** The splash pages so far; page links do not repeat the page's size, so each request names it. */
export function useSplashPages() {
  return useInfiniteQuery({
    queryKey: PAGES,
    initialPageParam: 1,
    queryFn: async ({ pageParam }) =>
      (await listSplashPages({ query: { page: pageParam, results_per_page: SIZE }, throwOnError: true })).data,
    getNextPageParam: ({ meta }) => (meta.page < meta.total_pages ? meta.page + 1 : undefined),
    select: ({ pages }) => ({ total: pages.at(-1)?.meta.total ?? 0, rows: pages.flatMap(({ data }) => data) }),
  });
}

/** Every splash page, in as many requests as it takes. */
export async function everySplashPage(): Promise<SplashPage[]> {
  const rows: SplashPage[] = [];
  for (let page = 1, last = 1; page <= last; page += 1) {
    const { data } = await listSplashPages({ query: { page, results_per_page: 100 }, throwOnError: true });
    rows.push(...data.data);
    last = data.meta.total_pages;
  }
  return rows;
}

export function useCreate() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (body: SplashPageCreate) => createSplashPage({ body, throwOnError: true }),
    onSuccess: () => queries.invalidateQueries({ queryKey: PAGES }),
  });
}

export function useDelete() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (splash_page_id: number) =>
      deleteSplashPage({ path: { splash_page_id }, parseAs: "text", throwOnError: true }), // its answer may be empty
    onSuccess: () => queries.invalidateQueries({ queryKey: PAGES }),
  });
}

/** What a deployment says of a failure, if it says anything that people can read. */
export function told(error: unknown): string {
  const said = (error as ErrorEnvelope | null)?.errors?.[0];
  return said?.title ?? "That did not work. Try again later.";
}
