import { type JsonText, type JsonView, kindOf, stringOf } from '../json/text.ts';

/** What an answer of research says, and its sources; undefined for an answer of another form. */
export function findingsOf(answer: JsonView): { result: string; citations: JsonText } | undefined {
  const result = stringOf(answer.member('Result'))?.trim();
  const citations = answer.member('Citations') ?? 'null';
  if (!result || !['array', 'null'].includes(kindOf(citations))) return undefined;
  return { result, citations };
}
