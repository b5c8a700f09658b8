// Trouble that every service has now and then: what may be sent again is sent again, and what was written may show late.
export const TRIES = 4;
const BUSY = [429, 500, 502, 503, 504];

export const pause = (milliseconds: number) => new Promise((done) => setTimeout(done, milliseconds));

/** Milliseconds until the next try: what the service asks for, or each time three times as long. */
export const wait = (answer: Response | undefined, turn: number) => {
  const asked = Number(answer?.headers.get("Retry-After") ?? NaN);
  return asked >= 0 ? asked * 1000 : 100 * 3 ** turn;
};

/** Whether nobody knows if the service carried out a request, or the service is busy. */
export const isTrouble = (answer: Response | undefined) => !answer || BUSY.includes(answer.status);

/** A `fetch` that sends everything again but creates, which might be made twice. */
export async function patientFetch(request: Request): Promise<Response> {
  const isCreate = request.method === "POST" && !/\/\d+$/.test(new URL(request.url).pathname);
  for (let turn = 0; ; turn += 1) {
    const isLast = isCreate || turn === TRIES - 1;
    const answer = await fetch(request.clone()).catch((error: unknown) => {
      if (isLast) throw error;
      return undefined;
    });
    if (answer && (isLast || !isTrouble(answer))) return answer;
    await pause(wait(answer, turn));
  }
}

/** Waits until something holds, for a few seconds at most. */
export async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let turn = 0; turn < 12 && !(await holds()); turn += 1) await pause(300);
}
