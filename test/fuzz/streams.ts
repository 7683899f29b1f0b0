import { bytesDamage, type Draft, framesDamage, type Kind } from './damage.ts';
import { createRandom, type Random } from './random.ts';
import type { BodyEnd } from './reference.ts';
import { makeEntity } from './values.ts';

/** A search stream as it comes from the network, made from its seed alone. */
export interface Stream {
  readonly seed: number;
  /** What was done to it. */
  readonly damage: readonly string[];
  readonly pieces: readonly Buffer[];
  readonly end: BodyEnd;
  /** What the service says when it is asked for the search as a task; undefined where it knows of none. */
  readonly task: readonly string[] | undefined;
  /** Leads that have to come out of every complete reading: those of a stream of which parts were only lost. */
  readonly due: readonly string[];
}

export function makeStream(seed: number): Stream {
  const random = createRandom(seed);
  const batches = Array.from({ length: random.below(5) }, () =>
    Array.from({ length: random.below(4) }, () => makeEntity(random)),
  );
  const leads = batches.flat();
  let drafts = makeDrafts(batches, random);
  const damage: string[] = [];
  let isOnlyLoss = true;
  const chosen = <Work>(kinds: readonly Kind<Work>[]): Work => {
    const [name, change, isLoss] = random.pick(kinds);
    damage.push(name);
    isOnlyLoss &&= isLoss !== undefined;
    return change;
  };
  for (let times = random.below(4); times > 0 && drafts.length > 0; times--) {
    drafts = chosen(framesDamage)(drafts, random);
  }
  let body = toBytes(drafts, random);
  if (random.oneIn(4)) body = chosen(bytesDamage)(body, random);
  const pieces = split(body, random);
  const end = random.oneIn(4) ? random.pick<BodyEnd>(['error', 'unproven']) : 'whole';
  const task = random.oneIn(4) ? makeTask(leads, random) : undefined;
  const isDue = isOnlyLoss && (task === undefined || leads.every((lead) => task.includes(lead)));
  return { seed, damage, pieces, end, task, due: isDue ? leads : [] };
}

function makeDrafts(batches: readonly (readonly string[])[], random: Random): Draft[] {
  const id: [string, string][] = random.oneIn(5) ? [] : [['leads_search_id', '"ls_1"']];
  let total = 0;
  const drafts = batches.map((entities, index): Draft => {
    total += entities.length;
    return {
      members: [
        ['object', '"entity_search_batch"'],
        ...id,
        ['batch_index', String(index + 1)],
        ['count', String(entities.length)],
        ['cum_count', String(total)],
        ['entities', `[${entities.join(random.oneIn(5) ? ' ,\n' : ',')}]`],
      ],
    };
  });
  const done: Draft = {
    members: [
      ['object', '"entity_search_done"'],
      ...id,
      ['cum_count', String(total)],
      ['stop_reason', '"limit"'],
      ['finish', 'true'],
    ],
  };
  return [...drafts, done, { members: [], text: '[DONE]' }];
}

/** The leads of the search as the service has them, or something near. */
function makeTask(leads: readonly string[], random: Random): string[] {
  const all = [...leads];
  if (random.oneIn(3)) all.splice(random.below(all.length + 1), 1);
  if (random.oneIn(3)) all.push(makeEntity(random));
  return all;
}

/** Frames in any of the forms that event streams allow. */
function toBytes(drafts: readonly Draft[], random: Random): Buffer {
  const lineEnd = random.pick(['\n', '\n', '\n', '\r\n', '\r']);
  const mixed = random.oneIn(20);
  const end = (): string => (mixed ? random.pick(['\n', '\r\n', '\r']) : lineEnd);
  let text = random.oneIn(10) ? '\ufeff' : '';
  for (const draft of drafts) {
    if (random.oneIn(8)) text += `: ping${end()}${random.oneIn(2) ? end() : ''}`;
    if (random.oneIn(12))
      text += `${random.pick(['id: 7', 'retry: 5', 'retry: x', 'foo: bar', 'datax: 1', 'data2'])}${end()}`;
    if (draft.event !== undefined) text += `event: ${draft.event}${end()}`;
    const data = draft.text ?? toJson(draft.members, random);
    const lines = random.oneIn(6) ? data.replace(',', ',\n').split('\n') : data.split('\n');
    for (const line of lines) text += `${random.oneIn(6) ? 'data:' : 'data: '}${line}${end()}`;
    text += end();
  }
  return Buffer.from(text);
}

function toJson(members: Draft['members'], random: Random): string {
  const [colon, comma] = random.oneIn(6) ? [' : ', ' ,\t'] : [':', ','];
  return `{${members.map(([name, value]) => `${JSON.stringify(name)}${colon}${value}`).join(comma)}}`;
}

/** Anywhere: inside a character, between CR and LF, at every byte. */
function split(body: Buffer, random: Random): Buffer[] {
  const most = random.pick([
    Number.POSITIVE_INFINITY,
    Number.POSITIVE_INFINITY,
    2000,
    300,
    body.length < 600 ? 1 : 50,
  ]);
  const pieces: Buffer[] = [];
  for (let at = 0; at < body.length; ) {
    const size = most === Number.POSITIVE_INFINITY ? body.length : 1 + random.below(most);
    pieces.push(body.subarray(at, at + size));
    at += size;
  }
  return pieces;
}
