import { defineGroup } from '../command.ts';
import { createAuthList } from './auth/list.ts';
import { createAuthLogin } from './auth/login.ts';
import { createAuthLogout } from './auth/logout.ts';
import { createAuthRemove } from './auth/remove.ts';
import { createAuthStatus } from './auth/status.ts';
import { createAuthSwitch } from './auth/switch.ts';

export const createCommand = defineGroup(
  {
    name: 'auth',
    description: 'Stores API keys, and shows which one is used.',
    examples: ['leadpipe auth login', 'leadpipe auth status'],
    remarks: [
      'Each profile has one key, for one address. Keys are stored in the keychain of the operating system. LEADPIPE_API_KEY is used before a stored key. No option takes a key, because other users of this machine can read command lines.',
    ],
  },
  [createAuthLogin, createAuthLogout, createAuthStatus, createAuthList, createAuthSwitch, createAuthRemove],
);
