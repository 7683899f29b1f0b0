import { limits } from '../contract/limits.ts';
import { type ExtractionType, type ExtractRequest, extractionTypes } from '../contract/types.ts';
import { UsageError } from '../errors.ts';
import { checkOneOf } from './closed-list.ts';
import type { InputNames } from './input-names.ts';
import { checkPublicUrl } from './public-url.ts';
import { checkNumber, checkText } from './within-limits.ts';

/** What to extract, beside the type. */
export interface ExtractInput {
  readonly target: string;
  readonly instruction?: string | null | undefined;
  readonly limit?: number | undefined;
}

/** Pure: the request of an extraction, checked against the interface's rules. Throws UsageError. */
// rule: extract.target, extract.instruction, extract.limit, extract.closed, extract.web2list-instruction
export function toExtractRequest(
  extractionType: string,
  input: ExtractInput,
  names: InputNames,
): ExtractRequest {
  const type = checkExtractionType(extractionType);
  const target = checkText({ ...limits.extractTarget, trimmed: true }, names.target, input.target);
  const instruction =
    input.instruction === undefined || input.instruction === null
      ? undefined
      : checkText({ ...limits.extractInstruction, trimmed: true }, names.instruction, input.instruction);
  const limit = checkNumber(limits.extractLimit, names.limit, input.limit ?? limits.extractLimit.default);
  const said = instruction === undefined ? {} : { instruction };
  if (type !== 'web2list') return { type, target, ...said, limit };
  if (!instruction) {
    throw new UsageError(
      `web2list needs ${names.instruction}, which says what to extract from the page`,
      `For example: ${names.instruction} "people: name, role, link"`,
    );
  }
  // The service ignores a limit here.
  return { type, target: checkPublicUrl(names.target, target), instruction };
}

/** Throws UsageError. */
export function checkExtractionType(value: string): ExtractionType {
  return checkOneOf('extraction type', value, extractionTypes, words);
}

/** What people call the parts of these names. */
const words = {
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
