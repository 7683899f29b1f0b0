import type { Command } from 'commander';
import { streamEntityTypes } from '../../contract/types.ts';
import { nearest } from '../../requests/closed-list.ts';
import { entityWords } from '../../requests/entity-search.ts';

/** What people type for a command of another name. */
const nearCommands: Readonly<Record<string, string>> = {
  login: 'leadpipe auth login',
  logout: 'leadpipe auth logout',
  whoami: 'leadpipe auth status',
  profiles: 'leadpipe auth list',
  status: 'leadpipe task status',
  export: 'leadpipe history show',
  ls: 'leadpipe history',
  list: 'leadpipe history',
  log: 'leadpipe history',
  show: 'leadpipe history show',
  resume: 'leadpipe history resume',
  credit: 'leadpipe balance',
  credits: 'leadpipe balance',
  usage: 'leadpipe history totals',
  find: 'leadpipe search',
  lookup: 'leadpipe contact',
  email: 'leadpipe contact email',
  phone: 'leadpipe contact phone',
  ask: 'leadpipe research',
  scrape: 'leadpipe extract',
  run: 'leadpipe task run',
  settings: 'leadpipe config',
  server: 'leadpipe serve',
  version: 'leadpipe --version',
  upgrade: 'npm install --global leadpipe@latest',
  update: 'npm install --global leadpipe@latest',
};

/** Pure: what is meant by a word that is no command of this group; `words` begin with it. */
export function meantIn(group: Command, words: readonly string[]): Readonly<Record<string, string>> {
  const [setting = '', value] = words;
  if (group.parent === null) return { ...typesMeantBy(setting, group), ...nearCommands };
  if (group.name() !== 'config' || !isSetting.test(setting)) return {};
  return {
    [setting]: `leadpipe config ${value === undefined ? 'get' : 'set'} ${words.slice(0, 2).join(' ')}`,
  };
}

/** Whoever gives the type first, without the command. */
function typesMeantBy(word: string, { commands }: Command): Readonly<Record<string, string>> {
  const names = commands.map((one) => one.name());
  if (nearest(word, names) !== undefined) return {};
  const type = nearest(word, streamEntityTypes, entityWords);
  return type === undefined ? {} : { [word]: `leadpipe search ${type}` };
}

const isSetting =
  /^(?:format|base_url|auth_header|credential_store|ca_file|(?:timeout|retry|poll|price)\.[\w.]+)$/;

/** Options of other programs, and what they are called here. */
export const nearOptions: Readonly<Record<string, string>> = {
  '-n': '--limit',
  '-l': '--limit',
  '--max': '--limit',
  '--count': '--limit',
  '--out': '--output',
  '--json': '--format json',
  '--csv': '--format csv',
};
