import type { EnrichRequest } from '../../contract/types.ts';
import { kindOf, objectMembers, objectOf } from '../../json/text.ts';
import { type AnswerKind, type BodyOf, failureOf } from '../../operations/kinds.ts';
import type { RowRequest } from '../../operations/row-request.ts';
import { isContactFound } from '../../output/columns.ts';
import type { LayoutOf } from '../../output/layout.ts';
import {
  toContactSearchRequest,
  toDeepSearchRequest,
  toEnrichRequest,
  toExtractRequest,
} from '../../requests/lookups.ts';
import { inputNames } from '../options/options.ts';
import { itemsOf, type Join, type Joined, joinInto } from './joined.ts';

/** What is bought for each row of a list, and how it joins its row. */
export interface ListOf<Kind extends AnswerKind = AnswerKind> {
  readonly kind: Kind;
  /** The field of the interface that a row fills: the column that is looked for. */
  readonly field: 'objective' | 'query' | 'entity_context' | 'target';
  /** Whether a record that looks like a lead says by itself what to send. */
  readonly takesEntities: boolean;
  /** Throws UsageError. */
  toBody(text: string): BodyOf<Kind>;
  /** A request that costs what any of them does. */
  readonly sample: BodyOf<Kind>;
  /** Where the answer goes, when it is not said. */
  readonly into: string;
  /** `own` are the names that the records have. */
  join(into: string, own: ReadonlySet<string>): Join;
  /** Of what is printed, where it is not the record with the answer beside it. */
  readonly layout?: LayoutOf;
  /** The fields that were asked for: an answer may lack some. */
  readonly fields?: readonly string[];
}

/** Pure: by what is sent, as the command line says it or as it was stored. */
export function toListOf(request: RowRequest): ListOf {
  switch (request.kind) {
    case 'contact':
      return toContacts(request.contact_type);
    case 'research':
      return answers;
    case 'enrich':
      return toEnrichments(request.enrich_fields);
    case 'extract':
      return toExtractions(request);
  }
}

function toContacts(type: 'email' | 'phone'): ListOf<'contact'> {
  return {
    kind: 'contact',
    field: 'objective',
    takesEntities: true,
    sample: { contact_type: type, objective: '' },
    toBody: (text) => toContactSearchRequest(type, text, inputNames),
    into: type,
    join: joining((into) => ({
      value(answer) {
        const result = answer.inner('result');
        const content = isContactFound(answer) ? result?.member('content') : undefined;
        return objectOf([
          ['content', content ?? 'null'],
          ['reference', result?.member('reference') ?? 'null'],
        ]);
      },
      columns: [
        { header: into, of: (found) => found.member('content') },
        { header: `${into}_reference`, of: (found) => found.member('reference') },
      ],
    })),
  };
}

const answers: ListOf<'research'> = {
  kind: 'research',
  field: 'query',
  takesEntities: false,
  sample: { query: '' },
  toBody: (text) => toDeepSearchRequest(text, inputNames),
  into: 'research',
  join: joining((into) => ({
    value: (answer) => answer.member('answer'),
    columns: [
      { header: into, of: (found) => found.member('Result') ?? found.text },
      { header: `${into}_citations`, of: (found) => found.member('Citations') },
    ],
    reasonOf: (answer) => failureOf('research', answer),
  })),
};

function toEnrichments(schema: EnrichRequest['enrich_fields']): ListOf<'enrich'> {
  const fields = Object.keys(schema.properties as object);
  return {
    kind: 'enrich',
    field: 'entity_context',
    takesEntities: true,
    sample: { entity_context: '', enrich_fields: schema },
    toBody: (text) => toEnrichRequest(text, schema, inputNames),
    into: 'enrich',
    join: joining(() => ({
      value: (answer) => answer.member('answer'),
      columns: fields.map((field) => ({ header: field, of: (found) => found.member(field) })),
      reasonOf: (answer) => failureOf('enrich', answer),
    })),
    fields,
  };
}

/** An item is a line of its own, which says whose it is. */
function toExtractions({
  type,
  instruction,
  limit,
}: Extract<RowRequest, { kind: 'extract' }>): ListOf<'extract'> {
  const items = itemsOf(type);
  return {
    kind: 'extract',
    field: 'target',
    takesEntities: false,
    sample: { type, target: '', ...(limit === undefined ? {} : { limit }) },
    toBody: (target) => toExtractRequest(type, { target, instruction, limit }, inputNames),
    into: 'extract',
    join: () => items,
    layout: items.layout,
  };
}

function joining(toJoined: (into: string) => Joined): ListOf['join'] {
  return (into, own) => joinInto(into, own, toJoined(into));
}

/** Pure: which of the fields that were asked for an answer does not have. */
export function lackingIn(fields: readonly string[], answer: string): string[] {
  const found = objectMembers(objectMembers(answer).get('answer') ?? '{}');
  return fields.filter((field) => kindOf(found.get(field) ?? 'null') === 'null');
}
