import { contactTypes, extractionTypes, noResultTexts, taskStates } from '../contract/types.ts';
import { isObject } from '../json/object.ts';
import {
  among,
  count,
  filledText,
  integer,
  listOf,
  mapOf,
  matching,
  notNull,
  object,
  objectWith,
  orNull,
  type Shape,
  text,
  truth,
} from './shapes.ts';

/** The resources of the document, field by field. */

/** Present by default is not present always: clients tolerate absent fields. Those that are there have their form. */
export const entity: Shape = objectWith(
  {},
  {
    optional: {
      name: text,
      links: object,
      description: text,
      score: objectWith({ score: text, reason: text }),
    },
  },
);

/** Each value *generally* holds content and reference: where they are, they are texts. */
export const enrichedFields: Shape = mapOf((value, at) =>
  isObject(value) ? objectWith({}, { optional: { content: text, reference: text } })(value, at) : [],
);

export const taskStatus: Shape = objectWith({
  status: objectWith({
    status: among(...taskStates),
    ready_count: count,
    verified_count: count,
    stop_reason: text,
  }),
});

export const page: Shape = objectWith({
  object: among('entity_search_items'),
  leads_search_id: filledText,
  status: among(...taskStates),
  pts: count,
  num: count,
  count,
  ready_count: count,
  limit: count,
  entities: listOf(object),
});

export const batch: Shape = objectWith({
  object: among('entity_search_batch'),
  batch_index: count,
  count,
  cum_count: count,
  entities: listOf(object),
});

export const done: Shape = objectWith({
  object: among('entity_search_done'),
  cum_count: count,
  stop_reason: text,
  finish: among(true),
});

/** RFC 3339 in UTC. */
const timestamp = matching(
  'a UTC RFC 3339 timestamp',
  /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]00:00)$/,
);

/** The body holds only these fields. */
export const contactResult: Shape = objectWith(
  {
    object: among('contact_search_result'),
    request: objectWith({ contact_type: among(...contactTypes), objective: text }, { closed: true }),
    result: objectWith({ content: orNull(text), reference: orNull(text) }, { closed: true }),
    created_at: timestamp,
  },
  { closed: true },
);

const dateTime = matching('a time as YYYY-MM-DD HH:MM:SS', /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);

export const balance: Shape = objectWith(
  { object: among('credit_balance'), available_credits: integer },
  { optional: { updated_at: dateTime, next_credit_refresh_at: dateTime } },
);

export const enriched: Shape = resultOrNone(object, noResultTexts.enrich);
export const researched: Shape = resultOrNone(notNull, noResultTexts.deepSearch);

/** `answer` when `success` is true, else an object with one text that is given. */
function resultOrNone(answer: Shape, none: string): Shape {
  const nothing = objectWith({ answer: among(none) }, { closed: true });
  return (value, at) => [
    ...objectWith({ success: truth })(value, at),
    ...(isObject(value) ? (value.success === false ? nothing : answer)(value.answer, `${at}.answer`) : []),
  ];
}

/** No extra top-level fields. */
export const extraction: Shape = (value, at) => [
  ...objectWith(
    {
      success: truth,
      data: isObject(value) && value.success === false ? text : listOf(object),
      metadata: objectWith({
        type: among(...extractionTypes),
        target: text,
        instruction: orNull(text),
        limit: integer,
      }),
    },
    { closed: true },
  )(value, at),
];

/** Other members of the envelope are not documented. */
export const envelope: Shape = objectWith({ error: objectWith({ message: filledText }) });
