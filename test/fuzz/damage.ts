import type { Random } from './random.ts';
import { makeEntity, oddValues } from './values.ts';

/** A frame before it is bytes: an event as its members, or any text. */
export interface Draft {
  event?: string;
  members: [name: string, value: string][];
  /** In place of the members. */
  text?: string;
}

/** Something that is done to streams. */
export interface Kind<Work> {
  readonly name: string;
  readonly change: Work;
  /** Whether nothing is there afterwards that was not there before. */
  readonly isLoss?: true;
}

type FramesWork = (drafts: readonly Draft[], random: Random) => Draft[];
type BytesWork = (body: Buffer, random: Random) => Buffer;

export const framesDamage: readonly Kind<FramesWork>[] = [
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

export const bytesDamage: readonly Kind<BytesWork>[] = [
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
