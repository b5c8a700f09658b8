// A Playwright fixture: an account of the mock that no other test has. A test fails if its client makes a mistake that
// the mock remarks, unless the test says that it is meant.
import { randomUUID } from "node:crypto";
import { expect, test as base } from "@playwright/test";

export const MOCK = process.env.MOCK ?? "http://127.0.0.1:8000";

export const test = base.extend({
  account: async ({ request }, use) => {
    const key = `sandbox-${randomUUID()}`;
    const control = async (path, data) => {
      const answer = await request.post(`${MOCK}/_mock/${path}`, { data });
      expect(answer.ok(), await answer.text()).toBe(true);
      return answer.json();
    };
    const remarks = async () => {
      const { entries } = await (await request.get(`${MOCK}/_mock/journal?remarks=1&account=${key}`)).json();
      return entries.flatMap((entry) => entry.remarks).filter((remark) => !remark.is_meant);
    };
    const account = {
      key,
      reset: (from) => control(`accounts/${key}/reset`, from ?? {}),
      force: (answer) => control("forced", { ...answer, account: key }),
      setClock: (now) => control("clock", { now, api_key: key }),
      means: (...rules) => control(`accounts/${key}/meant`, rules),
    };
    await use(account);
    expect(await remarks()).toEqual([]);
  },
});
