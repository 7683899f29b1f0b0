import { createRandom, type Random } from './random.ts';
import type { BodyEnd } from './reference.ts';

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

/** A frame before it is bytes: an event as its members, or any text. */
interface Draft {
  event?: string;
  members: [name: string, value: string][];
  /** In place of the members. */
  text?: string;
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
  const damageAll = <Work>(kinds: readonly Kind<Work>[], work: (change: Work) => void): void => {
    const { name, change, isLoss = false } = random.pick(kinds);
    damage.push(name);
    isOnlyLoss &&= isLoss;
    work(change);
  };
  for (let times = random.below(4); times > 0 && drafts.length > 0; times--) {
    damageAll(framesDamage, (change) => {
      drafts = change(drafts, random);
    });
  }
  let body = toBytes(drafts, random);
  if (random.oneIn(4)) {
    damageAll(bytesDamage, (change) => {
      body = change(body, random);
    });
  }
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

const deep = (levels: number, open: string, close: string): string =>
  open.repeat(levels) + (open === '[' ? '' : '1') + close.repeat(levels);

/** What no field should hold, and some that it may. */
const oddValues: readonly ((random: Random) => string)[] = [
  ...['null', 'true', 'false', '-1', '0.5', '1e400', '""', '"many"', '[]', '{}', '[1]', '0', '2', '30'].map(
    (text) => () => text,
  ),
  ...[
    '{"toString":1}',
    '9007199254740993',
    '"\\ud800"',
    '"\\u0000"',
    '1e0',
    '{"message":{"toString":{}}}',
  ].map((text) => () => text),
  (random) => `"${'long '.repeat(random.below(500))}"`,
  // Dear, and so rare.
  (random) => (random.oneIn(10) ? deep(5000 + random.below(15_000), '[', ']') : '[[[]]]'),
  (random) => (random.oneIn(10) ? deep(5000 + random.below(15_000), '{"toString":', '}') : '{"a":{}}'),
];

const entityTexts: readonly ((n: number, random: Random) => string)[] = [
  (n) => `{"name":"L${n}"}`,
  (n) => `{ "name" : "L${n}" ,\t"links":{"website":"https://a.example/${n}"}, "score":{"score":"0.9"} }`,
  (n) => `{"name":"Ünal é日😀 ${n}","id":1234567890123456789${n},"ratio":1.10,"e":[1e400,-0]}`,
  (n) => `{"name":"\\"quoted\\" \\\\ ${n}","note":"line\\nbreak }],{[","\\u0061":"\\ud83d\\ude00"}`,
  (n) => `{"name":"half \\ud800 ${n}","__proto__":{"x":1},"toString":null,"name":"twice"}`,
  (n, random) => `{"name":"${n}","description":"${'x'.repeat(random.below(400))}"}`,
  () => '{}',
  (n) => `{"object":"entity_search_done","cum_count":${n},"data":"data: [DONE]"}`,
];

function makeEntity(random: Random): string {
  return random.pick(entityTexts)(random.below(1000), random);
}

interface Kind<Work> {
  readonly name: string;
  readonly change: Work;
  /** Whether nothing is there afterwards that was not there before. */
  readonly isLoss?: true;
}

type FramesWork = (drafts: readonly Draft[], random: Random) => Draft[];
type BytesWork = (body: Buffer, random: Random) => Buffer;

const framesDamage: readonly Kind<FramesWork>[] = [
  { name: 'a frame lost', change: without, isLoss: true },
  { name: 'a frame twice', change: (drafts, random) => inserted(drafts, random, random.pick(drafts)) },
  { name: 'two frames in the other order', change: swapped },
  { name: 'no [DONE]', change: (drafts) => drafts.filter(({ text }) => text !== '[DONE]'), isLoss: true },
  {
    name: 'no done event',
    change: (drafts) => drafts.filter((draft) => memberOf(draft, 'object') !== '"entity_search_done"'),
    isLoss: true,
  },
  {
    name: 'a second done event',
    change: (drafts, random) => {
      const cum_count = random.oneIn(2) ? String(random.below(12)) : random.pick(oddValues)(random);
      return inserted(drafts, random, {
        members: [
          ['object', '"entity_search_done"'],
          ['cum_count', cum_count],
          ['finish', 'true'],
        ],
      });
    },
  },
  {
    name: 'an event of tomorrow',
    change: (drafts, random) =>
      inserted(drafts, random, {
        members: [
          ['object', '"entity_search_hint"'],
          ['x', random.pick(oddValues)(random)],
        ],
      }),
    isLoss: true,
  },
  {
    name: 'a scalar frame',
    change: (drafts, random) =>
      inserted(drafts, random, { members: [], text: random.pick(oddValues)(random) }),
    isLoss: true,
  },
  {
    name: 'an error frame',
    change: (drafts, random) =>
      inserted(drafts, random, { members: [['error', random.pick(oddValues)(random)]] }),
    isLoss: true,
  },
  {
    name: 'an error event',
    change: (drafts, random) =>
      inserted(drafts, random, {
        event: 'error',
        members: [],
        text: random.oneIn(3) ? '[DONE]' : random.pick(oddValues)(random),
      }),
    isLoss: true,
  },
  {
    name: 'a frame that is not JSON',
    change: (drafts, random) =>
      inserted(drafts, random, {
        members: [],
        text: random.pick(['{', '', '{"object":', 'NaN', '[DONE', '{]']),
      }),
    isLoss: true,
  },
  { name: 'an event that is named', change: (drafts, random) => named(drafts, random) },
  {
    name: 'an odd value',
    change: (drafts, random) => changed(drafts, random, () => random.pick(oddValues)(random)),
  },
  { name: 'a number that is off by some', change: offBySome },
  { name: 'a member lost', change: withoutMember },
  {
    name: 'a member twice',
    change: (drafts, random) => withMember(drafts, random, (name) => [name, random.pick(oddValues)(random)]),
  },
  {
    name: 'a member of tomorrow',
    change: (drafts, random) =>
      withMember(drafts, random, () => ['tomorrow', random.pick(oddValues)(random)]),
  },
  {
    name: 'leads that are none',
    change: (drafts, random) =>
      changed(drafts, random, () => `[${random.pick(oddValues)(random)},{"name":"beside"}]`, 'entities'),
  },
  {
    name: 'other leads under the same number',
    change: (drafts, random) => {
      const batch = random.pick(drafts);
      const members = batch.members.map(([name, value]): [string, string] =>
        name === 'entities' ? [name, `[${makeEntity(random)}]`] : [name, value],
      );
      return inserted(drafts, random, { members });
    },
  },
  {
    name: 'a [DONE] too early',
    change: (drafts, random) => inserted(drafts, random, { members: [], text: '[DONE]' }),
  },
];

const bytesDamage: readonly Kind<BytesWork>[] = [
  {
    name: 'the end cut off',
    change: (body, random) => body.subarray(0, random.below(body.length + 1)),
    isLoss: true,
  },
  {
    name: 'bytes lost',
    change: (body, random) => {
      const at = random.below(body.length + 1);
      return Buffer.concat([body.subarray(0, at), body.subarray(at + 1 + random.below(20))]);
    },
  },
  {
    name: 'a byte changed',
    change: (body, random) => {
      const copy = Buffer.from(body);
      if (copy.length > 0) copy[random.below(copy.length)] = random.below(256);
      return copy;
    },
  },
  {
    name: 'bytes put in',
    change: (body, random) => {
      const at = random.below(body.length + 1);
      const texts = [
        '\n',
        '\r',
        '\n\n',
        '"',
        '\\',
        '{',
        '}',
        '\u0000',
        '\ufeff',
        '\u2028',
        ': x\n',
        'data: x\n\n',
        'event: error\n',
      ];
      const more = random.oneIn(3)
        ? Buffer.from([0xff, 0xe2, random.below(256)])
        : Buffer.from(random.pick(texts));
      return Buffer.concat([body.subarray(0, at), more, body.subarray(at)]);
    },
  },
];

/** Everything that is done to streams, by name. */
export const damages: readonly string[] = [...framesDamage, ...bytesDamage].map(({ name }) => name);

function without(drafts: readonly Draft[], random: Random): Draft[] {
  const at = random.below(drafts.length);
  return drafts.filter((_, index) => index !== at);
}

function inserted(drafts: readonly Draft[], random: Random, draft: Draft | undefined): Draft[] {
  const at = random.below(drafts.length + 1);
  return draft === undefined ? [...drafts] : drafts.toSpliced(at, 0, draft);
}

function swapped(drafts: readonly Draft[], random: Random): Draft[] {
  const all = [...drafts];
  const [one, other] = [random.below(all.length), random.below(all.length)];
  const first = all[one];
  const second = all[other];
  if (first !== undefined && second !== undefined) {
    all[one] = second;
    all[other] = first;
  }
  return all;
}

/** One event with other members; those that are text stay as they are. */
function altered(
  drafts: readonly Draft[],
  random: Random,
  change: (members: [string, string][]) => [string, string][],
): Draft[] {
  const at = random.below(drafts.length);
  return drafts.map((draft, index) =>
    index === at && draft.members.length > 0 ? { ...draft, members: change([...draft.members]) } : draft,
  );
}

function changed(
  drafts: readonly Draft[],
  random: Random,
  value: (old: string) => string,
  only?: string,
): Draft[] {
  return altered(drafts, random, (members) => {
    const at =
      only === undefined ? random.below(members.length) : members.findIndex(([name]) => name === only);
    return members.map(([name, old], index) => [name, index === at ? value(old) : old]);
  });
}

function offBySome(drafts: readonly Draft[], random: Random): Draft[] {
  return changed(drafts, random, (old) =>
    /^\d+$/.test(old) ? String(Number(old) + random.below(7) - 3) : old,
  );
}

function withoutMember(drafts: readonly Draft[], random: Random): Draft[] {
  return altered(drafts, random, (members) => members.toSpliced(random.below(members.length), 1));
}

function withMember(
  drafts: readonly Draft[],
  random: Random,
  member: (name: string) => [string, string],
): Draft[] {
  return altered(drafts, random, (members) => {
    const [name] = random.pick(members);
    return members.toSpliced(random.below(members.length + 1), 0, member(name));
  });
}

function named(drafts: readonly Draft[], random: Random): Draft[] {
  const at = random.below(drafts.length);
  const event = random.pick(['message', 'entity_search_batch', 'error', 'Error', '']);
  return drafts.map((draft, index) => (index === at ? { ...draft, event } : draft));
}

function memberOf(draft: Draft, name: string): string | undefined {
  return draft.members.find(([one]) => one === name)?.[1];
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
