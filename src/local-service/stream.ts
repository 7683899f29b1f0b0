import { once } from 'node:events';
import { wait } from '../clock.ts';
import { type EntitySearchDone, streamSentinel } from '../contract/types.ts';
import { alreadyExists, endStream, takeIn } from './admission.ts';
import { reset } from './answer.ts';
import { failWhenRehearsed } from './billed.ts';
import type { Rows } from './database.ts';
import { type Found, findLeads, recordSearch, toSearch } from './entity-search.ts';
import type { Fault } from './scenario.ts';
import type { Exchange, Service } from './service.ts';

/** POST /v1/entity-search */
export async function search(service: Service, exchange: Exchange): Promise<void> {
  const { caller, wanted, earlier } = await takeIn(service, exchange, (body) =>
    toSearch(service, body, false),
  );
  if (earlier !== undefined) throw alreadyExists();
  failWhenRehearsed(service, exchange);

  const found = await findLeads(service, caller, wanted);
  const searchId = service.store.transaction((rows) =>
    recordSearch(rows, service, exchange, caller, wanted, found),
  );

  const lost = exchange.fault?.fault === 'lost_response';
  const sent = lost ? found.leads.length : await sendBatches(service, exchange, searchId, found);
  const complete = sent === found.leads.length && (lost || sentWhole(exchange));
  service.store.transaction((rows) => {
    if (lost) noteSent(rows, searchId, sent);
    endStream(rows, searchId, complete ? 'done' : 'error', service.switches.dropped_stream, service.now());
  });
  if (lost) reset(exchange.outgoing);
  else if (complete) sendEnd(exchange, searchId, found);
  else await breakOff(service, exchange);
}

/** Sends batch after batch, no faster than they are taken. Returns how many entities went out. */
async function sendBatches(
  { store, switches, clock }: Service,
  exchange: Exchange,
  searchId: string,
  { leads }: Found,
): Promise<number> {
  const { outgoing, gone, fault } = exchange;
  // rule: search.media-type
  outgoing.writeHead(200, { 'Content-Type': 'text/event-stream' });
  // Sends the head. In front of a string (flushHeaders has an empty one) Node would encode it like that string,
  // and a key that is not ASCII would come back as other bytes.
  outgoing.write(Buffer.alloc(0));
  const size = Math.max(1, switches.batch_size);
  const lastBatch = breaksOff(fault) ? fault.afterBatches : Number.POSITIVE_INFINITY;
  let sent = 0;
  for (let index = 1; sent < leads.length && index <= lastBatch; index += 1) {
    if (index > 1 && switches.batch_pause_ms > 0) await wait(clock, switches.batch_pause_ms, gone);
    if (gone.aborted) break;
    const batch = leads.slice(sent, sent + size);
    // rule: events.batch, events.batch-index, events.ids
    const head = {
      object: 'entity_search_batch',
      leads_search_id: searchId,
      batch_index: index,
      count: batch.length,
      cum_count: sent + batch.length,
    };
    const records = batch.map(({ record }) => record).join(',');
    const event = frame(`${JSON.stringify(head).slice(0, -1)},"entities":[${records}]}`);
    const twice = fault?.fault === 'duplicate_batch' && fault.afterBatches === index;
    if (!outgoing.write(twice ? event + event : event)) await untilTaken(exchange, switches.unread_ms);
    if (gone.aborted) break;
    sent += batch.length;
    store.transaction((rows) => noteSent(rows, searchId, sent));
  }
  return sent;
}

/** Waits for the client to read on. Where it takes not one byte for so long, Node ends the connection. */
async function untilTaken({ outgoing, gone }: Exchange, ms: number): Promise<void> {
  outgoing.setTimeout(ms);
  await once(outgoing, 'drain', { signal: gone }).catch(() => undefined);
  outgoing.setTimeout(0);
}

function noteSent(rows: Rows, searchId: string, sent: number): void {
  rows.run(
    'UPDATE searches SET ready_count = ?, verified_count = ? WHERE search_id = ?',
    sent,
    sent,
    searchId,
  );
}

// rule: events.done, events.order, events.ids
function sendEnd({ outgoing }: Exchange, searchId: string, { leads, stopReason }: Found): void {
  const done: EntitySearchDone = {
    object: 'entity_search_done',
    leads_search_id: searchId,
    cum_count: leads.length,
    stop_reason: stopReason,
    finish: true,
  };
  outgoing.end(`${frame(JSON.stringify(done))}${frame(streamSentinel)}`);
}

// rule: events.frames
function frame(payload: string): string {
  return `data: ${payload}\n\n`;
}

/** Whether the stream went its way to the end, neither left by its client nor broken off by the scenario. */
function sentWhole({ gone, fault }: Exchange): boolean {
  return !gone.aborted && !breaksOff(fault);
}

function breaksOff(fault: Exchange['fault']): fault is Fault {
  return fault?.fault === 'cut' || fault?.fault === 'reset' || fault?.fault === 'stall';
}

/** Ends a stream that is not complete as its fault says; what was sent gets a moment to arrive. */
async function breakOff({ clock, switches }: Service, { outgoing, gone, fault }: Exchange): Promise<void> {
  await wait(clock, Math.max(1, switches.batch_pause_ms), gone);
  if (fault?.fault === 'cut') outgoing.end();
  else if (fault?.fault === 'reset') reset(outgoing);
}
