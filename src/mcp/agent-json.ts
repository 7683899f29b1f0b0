import type { CallToolResult } from '@modelcontextprotocol/server';
import { isExact } from '../json/number.ts';
import { allMembers, arrayItems, type JsonText, kindOf } from '../json/text.ts';
import { toTerminalLines } from '../output/clean.ts';
import type { Result } from './tool.ts';

const plain = /^[\x20-\x5b\x5d-\x7e]*$/;
/** Deeper values become text: parsing them could overflow the client's stack. */
const deepest = 100;

/** Pure: the result as structure and as text, since clients read only one of them. */
export function toCallResult(result: Result, isError = false): CallToolResult {
  const text = toAgentJson(JSON.stringify(result));
  const content = [{ type: 'text', text } as const];
  return { content, structuredContent: JSON.parse(text), ...(isError && { isError }) };
}

/** Pure: a JSON value in the form that agents get. */
export function toAgentValue(text: JsonText): unknown {
  return JSON.parse(toAgentJson(text));
}

/**
 * Pure: JSON for agents, on one line: texts and names are cleaned as for a terminal, and a number that JSON.parse would round (IDs are
 * larger than 2^53) becomes text. Line breaks in texts stay, since an answer in prose needs them.
 */
export function toAgentJson(text: JsonText, depth = 0): JsonText {
  const value = text.trim();
  const kind = kindOf(value);
  if (kind === 'string') return toCleanString(value);
  if (kind === 'number') return isExact(value) ? value : JSON.stringify(value);
  if (kind !== 'array' && kind !== 'object') return value;
  if (depth === deepest) return toCleanString(JSON.stringify(value));
  const inner = (part: JsonText): JsonText => toAgentJson(part, depth + 1);
  if (kind === 'array') return `[${arrayItems(value).map(inner).join(',')}]`;
  const members = allMembers(value).map(
    ([name, member]) => `${inner(JSON.stringify(name))}:${inner(member)}`,
  );
  return `{${members.join(',')}}`;
}

function toCleanString(literal: JsonText): JsonText {
  if (plain.test(literal)) return literal;
  return JSON.stringify([...toTerminalLines(JSON.parse(literal) as string)].join('\n'));
}
