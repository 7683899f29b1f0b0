import type { ConnectionOptions } from '../options/shared-options.ts';

/** Commands that the user is told to run next: each reaches the service that this run used. */

/** A text as one word for a shell, for commands that users copy. It is quoted in a way that every shell understands, if possible. */
export function shellWord(text: string): string {
  if (/^[\w.,:/@-]+$/.test(text)) return text;
  return /^[^"$`\\!%]+$/.test(text) ? `"${text}"` : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The options that select a service. */
export type Route = Pick<ConnectionOptions, 'baseUrl' | 'local' | 'profile'>;

/** Pure: the options that select the service of an operation; an address only if this run was given it in an option. */
export function routeOf(
  { origin, profile }: { readonly origin: string; readonly profile: string | null },
  { baseUrl }: Pick<Route, 'baseUrl'> = {},
): Route {
  if (origin === 'local') return { local: true };
  return {
    ...(baseUrl === undefined ? {} : { baseUrl }),
    ...(profile === null || profile === 'default' ? {} : { profile }),
  };
}

/** Pure: the words of these options. */
export function routeWords({ local, baseUrl, profile }: Route): string[] {
  return [
    ...(local ? ['--local'] : []),
    ...(baseUrl === undefined ? [] : ['--base-url', baseUrl]),
    ...(profile === undefined ? [] : ['--profile', profile]),
  ];
}

/** Pure: a command line for a shell. */
export function toCommand(words: readonly string[]): string {
  return ['leadpipe', ...words].map(shellWord).join(' ');
}

/** Pure: --profile for this profile; empty for the default. */
export function flagOf(profile = 'default'): string {
  return profile === 'default' ? '' : ` --profile ${shellWord(profile)}`;
}

/** Pure: the command that sets a setting of the profile that this run used. */
export function toSetCommand(
  setting: string,
  { profile }: { readonly profile?: string | undefined },
  value = '<credits>',
): string {
  return `leadpipe config set ${setting} ${value}${flagOf(profile)}`;
}

/** Pure: the command that shows the balance of the account that this run used. */
export function toBalanceCommand(route: Route): string {
  return toCommand(['balance', ...routeWords(route)]);
}

/** Pure: the command that reads the leads of a task: all that are ready (`fetch`), or up to its end (`wait`). */
export function toReadCommand(how: 'fetch' | 'wait', leadsSearchId: string, route: Route): string {
  return toCommand(['task', how, leadsSearchId, ...routeWords(route)]);
}

/**
 * Pure: the command that resumes an operation. It reads the profile and --local from the operation, so only an address is named.
 * `first`: how many rows of a list are to be bought.
 */
export function toResumeCommand(
  operationId: string,
  { baseUrl, first }: { readonly baseUrl?: string | undefined; readonly first?: number | undefined },
  output: readonly string[] = [],
): string {
  const rows = first === undefined ? [] : ['--first', String(first)];
  const address = baseUrl === undefined ? [] : routeWords({ baseUrl });
  return toCommand(['resume', operationId, ...rows, ...output, ...address]);
}
