// What the components need of the API: pages one after another, creates with a file, deletes.
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { createSplashPage, deleteSplashPage, listSplashPages } from "./client";
import type { ErrorEnvelope, SplashPage, SplashPageCreate } from "./client";
import { TRIES, isTrouble, pause, until, wait } from "./patience";

const PAGES = ["splash-pages"];
const SIZE = 10;

const AS_JSON = { parseAs: "json", throwOnError: true } as const; // whatever its media type says

/** The splash pages so far; page links do not repeat the page's size, so each request names it. */
export function useSplashPages() {
  return useInfiniteQuery({
    queryKey: PAGES,
    initialPageParam: 1,
    queryFn: async ({ pageParam }) =>
      (await listSplashPages({ query: { page: pageParam, results_per_page: SIZE }, ...AS_JSON })).data,
    getNextPageParam: ({ meta }) => (meta.page < meta.total_pages ? meta.page + 1 : undefined),
    select: ({ pages }) => ({ total: pages.at(-1)?.meta.total ?? 0, rows: pages.flatMap(({ data }) => data) }),
  });
}

/** Every splash page, in as many requests as it takes. */
export async function everySplashPage(): Promise<SplashPage[]> {
  const rows: SplashPage[] = [];
  for (let page = 1, last = 1; page <= last; page += 1) {
    const { data } = await listSplashPages({ query: { page, results_per_page: 100 }, ...AS_JSON });
    rows.push(...data.data);
    last = data.meta.total_pages;
  }
  return rows;
}

const isListed = async (id: number) => (await everySplashPage()).some((row) => row.id === id);

export function useCreate() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: create,
    onSuccess: async (id) => {
      await until(() => isListed(id));
      await queries.invalidateQueries({ queryKey: PAGES });
    },
  });
}

/** Creates a splash page once: if nobody knows whether that worked, it looks before it tries again. */
async function create(body: SplashPageCreate): Promise<number> {
  const before = new Set((await everySplashPage()).map(({ id }) => id));
  for (let turn = 0; ; turn += 1) {
    const { data, error, response } = await createSplashPage({ body, parseAs: "json" });
    if (data && response?.ok) return Number(data.data.id);
    if (!isTrouble(response) || turn === TRIES - 1) throw error;
    await pause(Math.max(wait(response, turn), 700)); // a list may lag behind
    const made = (await everySplashPage()).find(({ id, name }) => name === body.name && !before.has(id));
    if (made) return made.id;
  }
}

export function useDelete() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: remove,
    onSuccess: async (_, id) => {
      await until(async () => !(await isListed(id)));
      await queries.invalidateQueries({ queryKey: PAGES });
    },
  });
}

/** Deletes a splash page; if it is not there, somebody else has, or an earlier try whose answer was lost. */
async function remove(id: number): Promise<void> {
  const { error, response } = await deleteSplashPage({ path: { splash_page_id: id }, parseAs: "text" }); // it may be empty
  if (error && response?.status !== 404) throw error;
}

/** What a deployment says of a failure, if it says anything that people can read. */
export function told(error: unknown): string {
  const said = (error as ErrorEnvelope | null)?.errors?.[0];
  return said?.title ?? "That did not work. Try again later.";
}
