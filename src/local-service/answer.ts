import type { Refusal } from './fields.ts';
import type { Exchange } from './service.ts';
import type { Switches } from './switches.ts';

type Addressee = Pick<Exchange, 'outgoing' | 'fault'>;

/** Writes a whole answer, unless the scenario has something else in store for it. */
export function answer(
  { outgoing, fault }: Addressee,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  // The connection stays open, and nothing comes, until the client gives up.
  if (fault?.fault === 'stall') return;
  if (fault?.fault === 'lost_response') {
    reset(outgoing);
    return;
  }
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  const all = { 'Content-Type': 'application/json', 'Content-Length': String(bytes.length), ...headers };
  for (const [name, value] of Object.entries(all)) outgoing.setHeader(name, value);
  if (status === 204 || status === 304) outgoing.removeHeader('Content-Length');
  outgoing.writeHead(status);
  if (fault?.fault === 'cut') outgoing.write(bytes.subarray(0, bytes.length >> 1), () => outgoing.destroy());
  else outgoing.end(bytes);
}

export function answerRefusal(to: Addressee, { status, message, said }: Refusal, switches: Switches): void {
  if (to.outgoing.headersSent) to.outgoing.destroy();
  if (to.outgoing.destroyed) return;
  const { type, headers, body = toEnvelope(message, type, switches) } = said;
  const kind = typeof body === 'string' ? { 'Content-Type': 'text/plain' } : {};
  answer(to, status, body, { ...kind, ...headers });
}

/** The error envelope; where the type stands in it is not documented, hence a switch. */
// rule: errors.envelope
export function toEnvelope(
  message: string,
  type: string | undefined,
  { error_type_at: at }: Switches,
): object {
  if (at === 'none' || type === undefined) return { error: { message } };
  if (at === 'type') return { error: { message }, type };
  return { error: { message, [at === 'error.code' ? 'code' : 'type']: type } };
}

/** Ends a connection the way a crashing machine does. */
export function reset(outgoing: Exchange['outgoing']): void {
  outgoing.socket?.resetAndDestroy();
}
