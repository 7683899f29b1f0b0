/**
 * A second reader of search streams, simple instead of fast. It shares no code with src: from the interface and the matrix
 * of faults alone, it says which leads a stream has, and whether it is complete.
 */

/** How the HTTP body ends: as it said it would; by an error; or with the connection, which proves nothing. */
export type BodyEnd = 'whole' | 'error' | 'unproven';

export interface Expected {
  /** The leads, each as it was written, in their order. */
  readonly rows: readonly string[];
  /** Why it is not proven that this is all; empty when it is. */
  readonly doubts: readonly string[];
}

/** What has to come out. `task` is what the service answers when it is asked for the same search as a task. */
export function readPlainly(body: Buffer, task?: readonly string[]): Expected {
  const frames = framesOf(body);
  const rows: string[] = [];
  const doubts: string[] = [];
  const batches = new Map<number, { rows: string[]; announced: number }>();
  const counts: number[] = [];
  const doneCounts: number[] = [];
  let id: string | undefined;
  let isDone = false;
  let isOver = false;

  for (const { event, data } of frames) {
    if (isOver) break;
    if (event !== 'error' && data === '[DONE]') {
      isOver = true;
      continue;
    }
    if (!isJson(data)) {
      doubts.push('a frame that is not JSON');
      isOver = true;
      continue;
    }
    const members = membersOf(data);
    const member = (name: string): unknown => parsed(members.get(name));
    if (member('object') === 'entity_search_batch') {
      id ??= toId(member('leads_search_id'));
      if (isCount(member('cum_count'))) counts.push(member('cum_count') as number);
      const index = member('batch_index');
      const entities = itemsOf(members.get('entities') ?? 'null').filter(isLead);
      let fresh = entities;
      if (isCount(index)) {
        const batch = batches.get(index) ?? { rows: [], announced: 0 };
        if (batches.has(index)) fresh = newOnes(entities, batch.rows);
        batches.set(index, batch);
        batch.rows.push(...fresh);
        if (isCount(member('count'))) batch.announced = Math.max(batch.announced, member('count') as number);
      } else {
        doubts.push('a batch without a number');
      }
      rows.push(...fresh);
    }
    if (member('object') === 'entity_search_done') {
      id ??= toId(member('leads_search_id'));
      isDone = true;
      if (isCount(member('cum_count'))) doneCounts.push(member('cum_count') as number);
      else doubts.push('a done event without a count');
      if (members.has('finish') && member('finish') !== true) doubts.push('a done event that is not the end');
    }
    const error = member('error');
    if (event === 'error' || (error !== undefined && error !== null)) {
      doubts.push('an error frame');
      isOver = true;
    }
  }

  if (!isDone) doubts.push('no done event');
  if (Math.max(0, ...counts, ...doneCounts) > rows.length) doubts.push('more was counted than came');
  for (const [index, batch] of batches) {
    if (batch.announced > batch.rows.length) doubts.push(`batch ${index} announced more than it brought`);
  }
  for (let index = 1; index < Math.max(0, ...batches.keys()); index++) {
    if (!batches.has(index)) {
      doubts.push(`batch ${index} is missing`);
      break;
    }
  }
  // A done event whose count is right proves that all has come, however the body then ends.
  if (!isOver && Math.max(0, ...doneCounts) < rows.length)
    doubts.push('no [DONE], and less was counted than came');
  if (doubts.length > 0 && id !== undefined && task !== undefined) {
    const read = task.filter(isLead);
    const rest = read.filter((text) => !rows.includes(text));
    const isAll =
      read.length >= Math.max(0, ...counts, ...doneCounts) && read.length - rest.length === rows.length;
    if (isAll) return { rows: [...rows, ...rest], doubts: [] };
  }
  return { rows, doubts };
}

const isLead = (text: string): boolean => text.startsWith('{');

function framesOf(body: Buffer): { event: string; data: string }[] {
  const lines = new TextDecoder()
    .decode(body)
    .replace(/\r\n|\r/g, '\n')
    .split('\n');
  const frames: { event: string; data: string }[] = [];
  // A line without a line end is incomplete.
  lines.pop();
  let event = '';
  let data: string[] = [];
  for (const line of lines) {
    if (line === '') {
      // One without data is nothing.
      if (data.join('').trim() !== '') frames.push({ event, data: data.join('\n') });
      event = '';
      data = [];
      continue;
    }
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === 'data') data.push(value);
    if (name === 'event') event = value;
  }
  return frames;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Each member of an object as it was written; the last of several with one name. */
function membersOf(text: string): Map<string, string> {
  const members = new Map<string, string>();
  if (!text.trimStart().startsWith('{')) return members;
  for (const [key = '', value = ''] of partsOf(text)) members.set(JSON.parse(key), value);
  return members;
}

function itemsOf(text: string): string[] {
  return text.startsWith('[') ? partsOf(text).map(([item = '']) => item) : [];
}

/** The members of an object or the items of an array; a member is split at its colon. */
function partsOf(text: string): string[][] {
  const parts: string[][] = [[]];
  let depth = 0;
  let from = -1;
  let to = -1;
  const close = (): void => {
    if (from !== -1) parts.at(-1)?.push(text.slice(from, to));
    from = -1;
  };
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g)) {
    if (depth === 1 && (token === ',' || token === ':' || token === '}' || token === ']')) {
      close();
      if (token === ',') parts.push([]);
    } else if (depth > 0) {
      if (from === -1) from = index;
      to = index + token.length;
    }
    if (token === '{' || token === '[') depth++;
    if (token === '}' || token === ']') depth--;
  }
  return parts.filter((part) => part.length > 0);
}

function parsed(text: string | undefined): unknown {
  return text === undefined ? undefined : JSON.parse(text);
}

function newOnes(entities: readonly string[], known: readonly string[]): string[] {
  const seen = new Set(known);
  return entities.filter((entity) => !seen.has(entity) && seen.add(entity));
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

function toId(value: unknown): string | undefined {
  return typeof value === 'string' && value.length > 0 && value.length <= 1000 ? value : undefined;
}
