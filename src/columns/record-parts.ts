import {
  arrayItems,
  isFilled,
  isOf,
  type JsonText,
  JsonView,
  kindOf,
  objectMembers,
  type Source,
  stringOf,
  textsAnywhereIn,
} from '../json/text.ts';

/** `score.score`, or the whole `score` if it has another form. */
export const score: Source = [['score', 'score'], ['score']];

/** One part of an enrich field. A value that is not `{ content, reference }` counts as its content. */
export function enriched(
  record: JsonView,
  field: string,
  part: 'content' | 'reference',
): JsonText | undefined {
  const value = record.inner('enrich_fields')?.inner(field);
  const isKnown = value?.member('content') !== undefined || value?.member('reference') !== undefined;
  if (isKnown) return value?.member(part);
  return part === 'content' ? value?.text : undefined;
}

/**
 * The links of a lead, from its `links` in any form. For a company the website comes first, then its LinkedIn page; for a person the other way
 * round; then the others in their order. One may come twice.
 */
export function linksIn(links: JsonText = 'null'): JsonText[] {
  const texts = [...firstLinks(links), ...withoutBlanks(links)];
  const addresses = texts.filter(isAddress);
  if (addresses.length > 0) return addresses;
  const own = ownTexts(links);
  return own.length > 0 ? own : texts.length > 0 ? [links] : [];
}

/** As `linksIn`, for people: also texts that are no addresses, such as phone numbers. */
export function shownLinksIn(links: JsonText = 'null'): JsonText[] {
  return [...firstLinks(links), ...ownTexts(links), ...linksIn(links)];
}

function firstLinks(links: JsonText): JsonText[] {
  const members = new JsonView(links);
  const [website = [], profile = []] = ['website', 'linkedin_url'].map((name) =>
    withoutBlanks(members.member(name)),
  );
  return isPersonIn(profile) ? [...profile, ...website] : [...website, ...profile];
}

/** Whether a LinkedIn page of these is that of a person. */
function isPersonIn(profile: readonly JsonText[]): boolean {
  return profile.some((text) => meaningOf(text).includes('/in/'));
}

/** Whether a lead is a person, by its links. */
export function isPerson(lead: JsonText): boolean {
  return isPersonIn(withoutBlanks(new JsonView(lead).inner('links')?.member('linkedin_url')));
}

/** Top-level texts, such as handles. Deeper ones may be labels, such as the kind of a link, which many leads share. */
function ownTexts(links: JsonText): JsonText[] {
  return [...objectMembers(links).values()].filter((value) => isOf('string')(value) && isFilled(value));
}

function withoutBlanks(value: JsonText = 'null'): JsonText[] {
  return textsAnywhereIn(value).filter((text) => meaningOf(text).trim() !== '');
}

function meaningOf(text: JsonText): string {
  return JSON.parse(text);
}

/** Whether a text is an address or a handle, and no word beside one, such as the kind of a link. */
function isAddress(value: JsonText): boolean {
  const text = meaningOf(value).trim();
  if (/^[a-z][a-z\d+.-]*:\/\/\S/i.test(text)) return true;
  return !/\s/.test(text) && /^@\w|[\p{L}\p{N}]\.\p{L}{2}/u.test(text);
}

/** The text of a research answer, and its sources; `other` is an answer in another form. */
export function findingsOf(record: JsonText) {
  const answer = new JsonView(record).inner('answer');
  const result = stringOf(answer?.member('Result'))?.trim();
  const citations = answer?.member('Citations') ?? 'null';
  const isKnown = result && ['array', 'null'].includes(kindOf(citations));
  if (!isKnown) return { citations: [], other: answer?.text ?? record };
  return { result, citations: arrayItems(citations) };
}
