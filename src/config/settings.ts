import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigurationError } from '../errors.ts';

/** What a profile can set. Every setting is optional; a setting that has no meaning yet is left alone. */
export interface Settings {
  readonly base_url?: string;
  readonly auth_header?: 'x-api-key' | 'bearer' | 'auto';
  readonly format?: 'table' | 'jsonl' | 'json' | 'csv';
  /** Seconds. */
  readonly 'timeout.connect'?: number;
  readonly 'timeout.headers'?: number;
  readonly 'timeout.idle'?: number;
  readonly 'timeout.event'?: number;
  readonly 'timeout.total'?: number;
  /** Further attempts after a failed one, at most; the policy of each fault may want fewer. */
  readonly 'retry.attempts'?: number;
  /** Seconds that all waits between attempts may take together. */
  readonly 'retry.budget'?: number;
  readonly 'poll.interval'?: number;
  readonly 'poll.max'?: number;
}

type SettingName = keyof Settings;

const oneOf = (...allowed: string[]): Check => ({
  takes: allowed.join(', '),
  accepts: (value) => typeof value === 'string' && allowed.includes(value),
});
const text: Check = { takes: 'a text', accepts: (value) => typeof value === 'string' && value !== '' };
const wholeNumber = (max: number): Check => ({
  takes: `a whole number from 0 to ${max}`,
  accepts: (value) => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= max,
});
const seconds: Check = {
  takes: 'seconds, above 0 and up to 86400',
  accepts: (value) => typeof value === 'number' && value > 0 && value <= 86_400,
};

interface Check {
  readonly takes: string;
  accepts(value: unknown): boolean;
}

const settingTable: Readonly<Record<SettingName, Check>> = {
  base_url: text,
  auth_header: oneOf('x-api-key', 'bearer', 'auto'),
  format: oneOf('table', 'jsonl', 'json', 'csv'),
  'timeout.connect': seconds,
  'timeout.headers': seconds,
  'timeout.idle': seconds,
  'timeout.event': seconds,
  'timeout.total': seconds,
  'retry.attempts': wholeNumber(20),
  'retry.budget': wholeNumber(86_400),
  'poll.interval': seconds,
  'poll.max': seconds,
};

const defaultProfile = 'default';

/**
 * The settings of one profile, from `config.json` in the config directory:
 * `{"profiles": {"<name>": {"base_url": "https://…", "timeout.idle": 60}}}`.
 * A missing file, or a missing default profile, has no settings. Throws ConfigurationError for a file that can't be
 * read or understood, and for a profile that was named and isn't there.
 */
export async function readSettings(configDir: string, profile: string | undefined): Promise<Settings> {
  const file = join(configDir, 'config.json');
  const name = profile ?? defaultProfile;
  const profiles = await readProfiles(file);
  const settings = profiles[name];
  if (settings === undefined) {
    if (profile === undefined) return {};
    throw new ConfigurationError(`there is no profile "${name}" in ${file}`);
  }
  if (!isRecord(settings)) throw new ConfigurationError(`${file}: the profile "${name}" is not an object`);
  for (const [setting, check] of Object.entries(settingTable)) {
    const value = settings[setting];
    if (value !== undefined && !check.accepts(value)) {
      throw new ConfigurationError(`${file}: ${setting} of the profile "${name}" takes ${check.takes}`);
    }
  }
  return settings;
}

async function readProfiles(file: string): Promise<Record<string, unknown>> {
  let source: string;
  try {
    source = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw new ConfigurationError(`cannot read ${file}: ${(error as Error).message}`, undefined, error);
  }
  try {
    const { profiles } = JSON.parse(source) as { profiles?: unknown };
    if (profiles === undefined) return {};
    if (isRecord(profiles)) return profiles;
  } catch (error) {
    throw new ConfigurationError(
      `${file} is not valid JSON`,
      'Mend or remove it; leadpipe has changed nothing.',
      error,
    );
  }
  throw new ConfigurationError(`${file}: "profiles" is not an object`);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
