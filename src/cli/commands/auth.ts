import { Command } from 'commander';
import type { Context } from '../../context.ts';
import { addHelp, type CommandHelp } from '../help.ts';
import { createAuthListCommand } from './auth/list.ts';
import { createAuthLoginCommand } from './auth/login.ts';
import { createAuthLogoutCommand } from './auth/logout.ts';
import { createAuthStatusCommand } from './auth/status.ts';
import { createAuthSwitchCommand } from './auth/switch.ts';

const help: CommandHelp = {
  examples: ['leadpipe auth login', 'leadpipe auth status'],
  remarks: [
    'Keys are kept in the keychain of the operating system, by profile, each for one address. LEADPIPE_API_KEY is used before any of them. No option takes a key: command lines can be read by everyone.',
  ],
};

export function createAuthCommand(context: Context): Command {
  const group = new Command('auth')
    .description('API keys, by profile.')
    .addCommand(createAuthLoginCommand(context))
    .addCommand(createAuthLogoutCommand(context))
    .addCommand(createAuthStatusCommand(context))
    .addCommand(createAuthListCommand(context))
    .addCommand(createAuthSwitchCommand(context));
  return addHelp(group, help);
}
