import type { Facts, LeadpipeError } from '../errors.ts';

type Hints = { readonly [Is in Facts['is']]: (facts: Extract<Facts, { is: Is }>) => string };

/** What to type, for each kind of facts: a kind without a sentence does not compile. */
const hints: Hints = {
  stream_refused_type: ({ entityType }) =>
    `Use \`leadpipe task run ${entityType} "<objective>" --enable-web-search\`.`,
  secret_in_address: () => 'Put the API key in LEADPIPE_API_KEY instead.',
  no_target: () =>
    [
      'With an account, run:  leadpipe auth login',
      'In a script, set:      LEADPIPE_BASE_URL and LEADPIPE_API_KEY',
      'To try it out, add:    --local (offline, free, with fictional leads)',
    ].join('\n'),
  no_address: ({ keyOrigin }) =>
    keyOrigin === undefined
      ? 'Set LEADPIPE_BASE_URL to your service, run `leadpipe auth login`, or try it out with --local.'
      : `Set the address that the stored key is for: leadpipe config set base_url ${keyOrigin}`,
  no_key: ({ profile }) =>
    `Store one (leadpipe auth login${flagOf(profile)}), set LEADPIPE_API_KEY, or try it out with --local.`,
  key_of_other_origin: ({ profile, origin }) =>
    `Store the key of that address (leadpipe auth login${flagOf(profile)} --base-url ${origin}), or set LEADPIPE_API_KEY.`,
  bad_switch: () => '`leadpipe serve --help` lists them.',
  port_in_use: () => 'Choose another with --port, or 0 for any free one.',
};

/** Pure: what to do about an error, in the words of the command line; undefined where there is nothing to say. */
export function toHint({ details: { hint, facts } }: LeadpipeError): string | undefined {
  if (hint !== undefined || facts === undefined) return hint;
  return (hints[facts.is] as (facts: Facts) => string)(facts);
}

function flagOf(profile: string): string {
  return profile === 'default' ? '' : ` --profile ${profile}`;
}
