import { useRef, useState } from "react";
import type { FormEvent } from "react";
import { everySplashPage, told, useCreate, useDelete, useSplashPages } from "./pages";

export function SplashPages() {
  const pages = useSplashPages();
  const remove = useDelete();
  const [names, setNames] = useState("");

  async function count() {
    const rows = await everySplashPage();
    setNames(`${new Set(rows.map(({ name }) => name)).size} different names`);
  }

  if (pages.isPending) return <p role="status">Loading</p>;
  if (pages.isError) {
    return (
      <>
        <p role="alert">{told(pages.error)}</p>
        <button onClick={() => pages.refetch()}>Try again</button>
      </>
    );
  }
  return (
    <>
      <h1>{pages.data.total} splash pages</h1>
      <NewPage />
      {remove.isError && <p role="alert">{told(remove.error)}</p>}
      <ul aria-label="Splash pages">
        {pages.data.rows.map(({ id, name, color }) => (
          <li key={id}>
            <span style={{ color }}>●</span> {name}{" "}
            <button aria-label={`Delete ${name}`} onClick={() => remove.mutate(id)}>
              Delete
            </button>
          </li>
        ))}
      </ul>
      {pages.hasNextPage && (
        <button onClick={() => pages.fetchNextPage()} disabled={pages.isFetchingNextPage}>
          More
        </button>
      )}
      <button onClick={count}>Count the names</button> <output>{names}</output>
    </>
  );
}

function NewPage() {
  const create = useCreate();
  const form = useRef<HTMLFormElement>(null);

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const given = new FormData(event.currentTarget);
    const logo = given.get("logo");
    create.mutate(
      { name: String(given.get("name")), ...(logo instanceof File && logo.size ? { logo } : {}) },
      { onSuccess: () => form.current?.reset() },
    );
  }

  return (
    <form ref={form} onSubmit={submit}>
      <label>
        Name <input name="name" />
      </label>
      <label>
        Logo <input name="logo" type="file" accept="image/*" />
      </label>
      <button disabled={create.isPending}>Create</button>
      {create.isError && <p role="alert">{told(create.error)}</p>}
    </form>
  );
}
