import { arrayItems, type JsonText, JsonView, kindOf, stringOf } from '../json/text.ts';

/** `score.score`; the whole of a score that is not of that form. */
// rule: entity.fields
export function scoreOf(record: JsonView): JsonText | undefined {
  return record.inner('score')?.member('score') ?? record.member('score');
}

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

/** The text of a research answer, and its sources; `other` is an answer in another form. */
export function findingsOf(record: JsonText) {
  const answer = new JsonView(record).inner('answer');
  const result = stringOf(answer?.member('Result'))?.trim();
  const citations = answer?.member('Citations') ?? 'null';
  const isKnown = result && ['array', 'null'].includes(kindOf(citations));
  if (!isKnown) return { citations: [], other: answer?.text ?? record };
  return { result, citations: arrayItems(citations) };
}

/** Null, empty and white space are all "not found". */
// rule: contact.not-found
export function isContactFound(record: JsonView): boolean {
  const content = record.inner('result')?.member('content') ?? 'null';
  return kindOf(content) !== 'null' && (stringOf(content) ?? content).trim() !== '';
}
