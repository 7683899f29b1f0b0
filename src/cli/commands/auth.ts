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
    'Each profile has one key, for one address. Keys are stored in the keychain of the operating system. LEADPIPE_API_KEY is used before a stored key. No option takes a key, because other users of this machine can read command lines.',
  ],
};

export function createAuthCommand(context: Context): Command {
  const group = new Command('auth')
    .description('Stores API keys, and shows which one is used.')
    .addCommand(createAuthLoginCommand(context))
    .addCommand(createAuthLogoutCommand(context))
    .addCommand(createAuthStatusCommand(context))
    .addCommand(createAuthListCommand(context))
    .addCommand(createAuthSwitchCommand(context));
  return addHelp(group, help);
}
