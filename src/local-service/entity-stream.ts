import { once } from 'node:events';
import { wait } from '../clock.ts';
import { type EntitySearchDone, streamSentinel } from '../contract/types.ts';
import { beginSearch } from './entity-search.ts';
import { endStream } from './ledger.ts';
import type { Exchange, Service } from './service.ts';

/** POST /v1/entity-search */
export async function search(service: Service, exchange: Exchange): Promise<undefined> {
  const { store, clock, switches } = service;
  const { outgoing, gone, fault } = exchange;
  const { searchId, leads, stopReason } = await beginSearch(service, exchange);
  const isLost = fault?.fault === 'lost_response';
  const isBroken = fault !== undefined && ['cut', 'reset', 'stall'].includes(fault.fault);
  if (isLost) noteSent(service, searchId, leads.length);
  else await sendBatches(service, exchange, searchId, leads, isBroken ? fault.afterBatches : leads.length);
  const isWhole = isLost || !(gone.aborted || isBroken);
  store.transaction((rows) => endStream(rows, searchId, isWhole ? 'done' : 'error', service));
  // Give the sent events time to arrive.
  if (!isWhole) await wait(clock, Math.max(1, switches.batch_pause_ms), gone);
  if (isLost || fault?.fault === 'reset') reset(outgoing);
  else if (fault?.fault === 'cut') outgoing.end();
  else if (isWhole) {
    const done: EntitySearchDone = {
      object: 'entity_search_done',
      leads_search_id: searchId,
      cum_count: leads.length,
      stop_reason: stopReason,
      finish: true,
    };
    outgoing.end(`${frame(JSON.stringify(done))}${frame(streamSentinel)}`);
  }
}

/** Sends batch after batch, `max` leads at most, as fast as the client reads. */
async function sendBatches(
  service: Service,
  { outgoing, gone, fault }: Exchange,
  searchId: string,
  leads: readonly { readonly record: string }[],
  max: number,
): Promise<void> {
  const { clock, switches } = service;
  outgoing.writeHead(200, { 'Content-Type': 'text/event-stream' });
  // Sends the head with an empty buffer. With a string (as flushHeaders does), Node would encode the head like the string, and change the bytes
  // of a key that is not ASCII.
  outgoing.write(Buffer.alloc(0));
  const size = Math.max(1, switches.batch_size);
  for (let index = 1, sent = 0; sent < leads.length && index <= max; index += 1) {
    if (index > 1 && switches.batch_pause_ms > 0) await wait(clock, switches.batch_pause_ms, gone);
    if (gone.aborted) return;
    const batch = leads.slice(sent, sent + size).map(({ record }) => record);
    sent += batch.length;
    const counts = { batch_index: index, count: batch.length, cum_count: sent };
    const head = JSON.stringify({ object: 'entity_search_batch', leads_search_id: searchId, ...counts });
    const event = frame(`${head.slice(0, -1)},"entities":[${batch.join(',')}]}`);
    const isTwice = fault?.fault === 'duplicate_batch' && fault.afterBatches === index;
    if (!outgoing.write(isTwice ? event + event : event)) {
      // Node ends the connection if the client reads nothing for this time.
      outgoing.setTimeout(switches.unread_ms);
      await once(outgoing, 'drain', { signal: gone }).catch(() => undefined);
      outgoing.setTimeout(0);
    }
    if (gone.aborted) return;
    noteSent(service, searchId, sent);
  }
}

function noteSent({ store }: Service, searchId: string, sent: number): void {
  const sql = 'UPDATE searches SET ready_count = ?1, verified_count = ?1 WHERE search_id = ?2';
  store.transaction((rows) => rows.run(sql, [sent, searchId]));
}

function frame(payload: string): string {
  return `data: ${payload}\n\n`;
}

/** Resets a connection, as a crashing machine would. */
export function reset(outgoing: Exchange['outgoing']): void {
  outgoing.socket?.resetAndDestroy();
}
