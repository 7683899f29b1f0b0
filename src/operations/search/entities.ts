import { type Records, toLines } from '../../json/lines.ts';
import type { JsonRanges } from '../../json/scan.ts';
import { type JsonText, kindOf } from '../../json/text.ts';
import { digestsOf } from './digests.ts';

/** The entities of a batch: as text, or as the bytes that they came in. */
export type Entities = readonly JsonText[] | JsonRanges;

const openBrace = 0x7b;

export function countOf(entities: Entities): number {
  return isText(entities) ? entities.length : entities.ends.length;
}

/** How many of them are objects: what else a list brings is no lead. */
export function leadsIn(entities: Entities): number {
  if (isText(entities)) return entities.filter((entity) => kindOf(entity) === 'object').length;
  const { bytes, starts } = entities;
  return starts.reduce((leads, start) => (bytes[start] === openBrace ? leads + 1 : leads), 0);
}

export function digestsOfEntities(entities: Entities): number[] {
  return digestsOf(isText(entities) ? toRanges(entities) : entities);
}

/** Those for which `isWanted` says so, by their number. */
export function picked(entities: Entities, isWanted: (number: number) => boolean): Entities {
  if (isText(entities)) return entities.filter((_, number) => isWanted(number));
  const { bytes, starts, ends } = entities;
  return {
    bytes,
    starts: starts.filter((_, number) => isWanted(number)),
    ends: ends.filter((_, number) => isWanted(number)),
  };
}

/** The entities of several batches as what is delivered at once. */
export function gathered(batches: readonly Entities[]): Records {
  const pieces = batches.filter((batch) => !isText(batch)) as JsonRanges[];
  if (pieces.length === batches.length) return toLines(pieces);
  return batches.flatMap((batch) => (isText(batch) ? batch : [...toLines([batch])]));
}

function isText(entities: Entities): entities is readonly JsonText[] {
  return Array.isArray(entities);
}

function toRanges(texts: readonly JsonText[]): JsonRanges {
  const parts = texts.map((text) => Buffer.from(text));
  const starts: number[] = [];
  const ends: number[] = [];
  let at = 0;
  for (const { length } of parts) {
    starts.push(at);
    at += length;
    ends.push(at);
  }
  return { bytes: Buffer.concat(parts), starts, ends };
}
