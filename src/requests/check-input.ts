import { type Limit, limits } from '../contract/limits.ts';
import {
  type ContactType,
  type CreateTaskRequest,
  contactTypes,
  type EntitySearchRequest,
  type EntityType,
  type ExtractionType,
  entityTypes,
  extractionTypes,
  streamEntityTypes,
  webSearchEntityTypes,
} from '../contract/types.ts';
import { UsageError } from '../errors.ts';
import { checkOneOf, clip } from './closed-list.ts';

/*
 * What the service would refuse is refused here, before anything is sent or reserved. Each limit counts in its own
 * unit, and each message names the limit, the unit and what was found. All throw UsageError.
 */

/** Checks a text against its limit; returns it as it will be sent (trimmed where the limit says so). */
export function checkText(limit: Limit, name: string, text: string): string {
  const sent = limit.trimmed ? text.trim() : text;
  const size = limit.unit === 'bytes' ? Buffer.byteLength(sent) : [...sent].length;
  if (size < limit.min) {
    throw new UsageError(`${name} is empty: it takes ${rangeOf(limit)}`);
  }
  if (size > limit.max) {
    throw new UsageError(`${name} has ${size} ${limit.unit}: it takes ${rangeOf(limit)}`);
  }
  return sent;
}

/** Checks a whole number given as text, such as `--limit 50`. */
export function checkNumber(limit: Limit, name: string, text: string): number {
  const value = /^-?\d{1,17}$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (Number.isNaN(value)) throw new UsageError(`${name} takes ${rangeOf(limit)}, not "${clip(text)}"`);
  if (value < limit.min || value > limit.max) {
    throw new UsageError(`${name} is ${value}: it takes ${rangeOf(limit)}`);
  }
  return value;
}

/** Checks the number of items of a list. */
export function checkList(limit: Limit, name: string, items: readonly string[]): string[] {
  if (items.length > limit.max) {
    throw new UsageError(`${name} has ${items.length} items: it takes up to ${limit.max} items`);
  }
  return [...items];
}

/** Checks an Idempotency-Key, which has to stand in an HTTP header. */
export function checkIdempotencyKey(key: string): string {
  checkText(limits.idempotencyKey, '--idempotency-key', key);
  if (!/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(key)) {
    throw new UsageError(
      '--idempotency-key takes visible ASCII characters, which is what a header can carry',
    );
  }
  return key;
}

/** Checks the whole body, once all its parts are known. */
export function checkBody(request: EntitySearchRequest | CreateTaskRequest): void {
  const { max, unit } = limits.requestBody;
  const size = Buffer.byteLength(JSON.stringify(request));
  if (size > max) {
    throw new UsageError(
      `the request body has ${size} ${unit}: it takes up to ${max} ${unit}`,
      'Shorten --dedup-custom-leads, which is most of it.',
    );
  }
}

/** Checks an entity type for a streaming search; the two that only tasks accept say where to go. */
export function checkStreamEntityType(value: string): EntitySearchRequest['entity_type'] {
  if (webSearchEntityTypes.some((one) => one === value)) {
    throw new UsageError(`${value} can't be streamed: it needs open web search, which runs as a task`, {
      is: 'stream_refused_type',
      entityType: value,
    });
  }
  return checkOneOf('entity type', value, streamEntityTypes, entityWords);
}

export function checkContactType(value: string): ContactType {
  return checkOneOf('contact type', value, contactTypes, contactWords);
}

export function checkExtractionType(value: string): ExtractionType {
  return checkOneOf('extraction type', value, extractionTypes, extractionWords);
}

/** What people call the parts of these names. */
const entityWords = { people: 'person', x: 'twitter', channel: 'creator', shop: 'store' };
const contactWords = { e: 'email', mail: 'email', telephone: 'phone', tel: 'phone', mobile: 'phone' };
const extractionWords = {
  twitter: 'x',
  instagram: 'ins',
  insta: 'ins',
  ig: 'ins',
  star: 'stargazer',
  gh: 'github',
  repository: 'repo',
  page: 'web2list',
  web: 'web2list',
  list: 'web2list',
};

/** Checks an entity type for a task; two of them need open web search. */
export function checkTaskEntityType(value: string, enableWebSearch: boolean): EntityType {
  const type = checkOneOf('entity type', value, entityTypes, entityWords);
  if (!enableWebSearch && webSearchEntityTypes.some((one) => one === type)) {
    throw new UsageError(
      `${type} is found by open web search only`,
      'Add --enable-web-search; it usually costs more, and takes a minute or two.',
    );
  }
  return type;
}

function rangeOf({ min, max, unit }: Limit): string {
  return `${min} to ${max} ${unit}`;
}
