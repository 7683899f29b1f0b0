import type { Facts, LeadpipeError } from '../errors.ts';

type Hints = { readonly [Is in Facts['is']]: (facts: Extract<Facts, { is: Is }>) => string };

/** What to type, for each kind of facts: a kind without a sentence does not compile. */
const hints: Hints = {
  stream_refused_type: ({ entityType }) =>
    `Use \`leadpipe task run ${entityType} "<objective>" --enable-web-search\`.`,
};

/** Pure: what to do about an error, in the words of the command line; undefined where there is nothing to say. */
export function toHint({ details: { hint, facts } }: LeadpipeError): string | undefined {
  if (hint !== undefined || facts === undefined) return hint;
  return (hints[facts.is] as (facts: Facts) => string)(facts);
}
