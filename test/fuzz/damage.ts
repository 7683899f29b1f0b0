import type { Random } from './random.ts';
import { makeEntity, oddValues } from './values.ts';

/** A frame before it is bytes: an event as its members, or any text. */
export interface Draft {
  event?: string;
  members: [name: string, value: string][];
  /** In place of the members. */
  text?: string;
}

type FramesWork = (drafts: readonly Draft[], random: Random) => Draft[];
type BytesWork = (body: Buffer, random: Random) => Buffer;

/** A kind of damage to streams. A loss only removes something. */
export type Kind<Work> = readonly [name: string, change: Work, isLoss?: 'a loss'];

const odd = (random: Random): string => random.pick(oddValues)(random);

/** One draft more, anywhere. */
const inserted =
  (make: (random: Random, drafts: readonly Draft[]) => Draft): FramesWork =>
  (drafts, random) =>
    drafts.toSpliced(random.below(drafts.length + 1), 0, make(random, drafts));
const insertedText = (make: (random: Random) => string, event?: string): FramesWork =>
  inserted((random) => ({ members: [], text: make(random), ...(event !== undefined && { event }) }));
const insertedEvent = (make: (random: Random) => Draft['members']): FramesWork =>
  inserted((random) => ({ members: make(random) }));

/** All drafts but those that say so. */
const withoutAll =
  (isGone: (draft: Draft) => boolean): FramesWork =>
  (drafts) =>
    drafts.filter((draft) => !isGone(draft));

/** One draft, changed. */
const one =
  (change: (draft: Draft, random: Random) => Draft): FramesWork =>
  (drafts, random) => {
    const at = random.below(drafts.length);
    return drafts.map((draft, index) => (index === at ? change(draft, random) : draft));
  };

/** One event with other members; those that are text stay as they are. */
const altered = (change: (members: Draft['members'], random: Random) => Draft['members']): FramesWork =>
  one((draft, random) =>
    draft.members.length > 0 ? { ...draft, members: change(draft.members, random) } : draft,
  );

/** One member, or the one of that name, with another value. */
const changed = (value: (random: Random, old: string) => string, only?: string): FramesWork =>
  altered((members, random) => {
    const at =
      only === undefined ? random.below(members.length) : members.findIndex(([name]) => name === only);
    return members.map(([name, old], index) => [name, index === at ? value(random, old) : old]);
  });

const withMember = (member: (name: string, random: Random) => [string, string]): FramesWork =>
  altered((members, random) => {
    const [name] = random.pick(members);
    return members.toSpliced(random.below(members.length + 1), 0, member(name, random));
  });

function swapped(drafts: readonly Draft[], random: Random): Draft[] {
  const [at, other] = [random.below(drafts.length), random.below(drafts.length)];
  return drafts.with(at, drafts[other] as Draft).with(other, drafts[at] as Draft);
}

export const framesDamage: readonly Kind<FramesWork>[] = [
  ['a frame lost', (drafts, random) => drafts.toSpliced(random.below(drafts.length), 1), 'a loss'],
  ['a frame twice', inserted((random, drafts) => random.pick(drafts))],
  ['two frames in the other order', swapped],
  ['no [DONE]', withoutAll(({ text }) => text === '[DONE]'), 'a loss'],
  [
    'no done event',
    withoutAll(({ members }) => members.some(([, value]) => value === '"entity_search_done"')),
    'a loss',
  ],
  [
    'a second done event',
    insertedEvent((random) => [
      ['object', '"entity_search_done"'],
      ['cum_count', random.oneIn(2) ? String(random.below(12)) : odd(random)],
      ['finish', 'true'],
    ]),
  ],
  [
    'an event of tomorrow',
    insertedEvent((random) => [
      ['object', '"entity_search_hint"'],
      ['x', odd(random)],
    ]),
    'a loss',
  ],
  ['a scalar frame', insertedText(odd), 'a loss'],
  ['an error frame', insertedEvent((random) => [['error', odd(random)]]), 'a loss'],
  ['an error event', insertedText((random) => (random.oneIn(3) ? '[DONE]' : odd(random)), 'error'), 'a loss'],
  [
    'a frame that is not JSON',
    insertedText((random) => random.pick(['{', '', '{"object":', 'NaN', '[DONE', '{]'])),
    'a loss',
  ],
  [
    'an event that is named',
    one((draft, random) => ({
      ...draft,
      event: random.pick(['message', 'entity_search_batch', 'error', 'Error', '']),
    })),
  ],
  ['an odd value', changed(odd)],
  [
    'a number that is off by some',
    changed((random, old) => (/^\d+$/.test(old) ? String(Number(old) + random.below(7) - 3) : old)),
  ],
  ['a member lost', altered((members, random) => members.toSpliced(random.below(members.length), 1))],
  ['a member twice', withMember((name, random) => [name, odd(random)])],
  ['a member of tomorrow', withMember((_, random) => ['tomorrow', odd(random)])],
  ['leads that are none', changed((random) => `[${odd(random)},{"name":"beside"}]`, 'entities')],
  [
    'other leads under the same number',
    inserted((random, drafts) => {
      const { members } = random.pick(drafts);
      const other = (name: string, value: string) =>
        name === 'entities' ? `[${makeEntity(random)}]` : value;
      return { members: members.map(([name, value]) => [name, other(name, value)]) };
    }),
  ],
  ['a [DONE] too early', insertedText(() => '[DONE]')],
];

const texts = ['\n', '\r', '\n\n', '"', '\\', '{', '}', '\u0000', '\ufeff', '\u2028'];
const lines = [': x\n', 'data: x\n\n', 'event: error\n'];

/** Replaces a number of bytes at a random place. */
function replaced(body: Buffer, random: Random, count: number, by: Uint8Array | string = ''): Buffer {
  const at = random.below(body.length + 1);
  return Buffer.concat([body.subarray(0, at), Buffer.from(by), body.subarray(at + count)]);
}

function someBytes(random: Random): Uint8Array | string {
  return random.oneIn(3) ? Buffer.from([0xff, 0xe2, random.below(256)]) : random.pick([...texts, ...lines]);
}

export const bytesDamage: readonly Kind<BytesWork>[] = [
  ['the end cut off', (body, random) => body.subarray(0, random.below(body.length + 1)), 'a loss'],
  ['bytes lost', (body, random) => replaced(body, random, 1 + random.below(20))],
  ['a byte changed', (body, random) => replaced(body, random, 1, Buffer.from([random.below(256)]))],
  ['bytes put in', (body, random) => replaced(body, random, 0, someBytes(random))],
];

/** Everything that is done to streams, by name. */
export const damages: readonly string[] = [...framesDamage, ...bytesDamage].map(([name]) => name);
