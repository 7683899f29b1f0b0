import {
  arrayItems,
  isOf,
  type JsonText,
  JsonView,
  kindOf,
  objectMembers,
  type Source,
  stringOf,
} from '../json/text.ts';

/** `score.score`; the whole of a score that is not of that form. */
// rule: entity.fields
export const score: Source = [['score', 'score'], ['score']];

/** One of the two parts; the whole of a value that is not of the form `{ content, reference }` is its content. */
// rule: entity.enrich-fields
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
 * The links of a lead. For a company the website comes first, then its LinkedIn page; for a person the other way round; then the others in
 * their order. One may come twice. `links` that are no object are one.
 */
export function linksOf(record: JsonView): JsonText[] {
  const links = record.inner('links');
  if (links === undefined) return [];
  if (kindOf(links.text) !== 'object') return [links.text];
  const all = objectMembers(links.text);
  const known = [all.get('website'), all.get('linkedin_url')];
  if (/\/in\//.test(stringOf(known[1]) ?? '')) known.reverse();
  return [...known, ...all.values()].filter(isOf('string'));
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
