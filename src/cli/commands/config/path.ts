import { settingsPath } from '../../../config/store.ts';
import type { Context } from '../../../context.ts';
import { defineCommand } from '../../command.ts';

export const createConfigPath = defineCommand({
  name: 'path',
  summary: 'where the settings are stored',
  description: 'Prints the path of the settings file.',
  takes: ['report'],
  examples: ['leadpipe config path', 'less "$(leadpipe config path)"'],
  output: ['the path of the settings file, on one line, even if there is no such file yet'],
  outcomes: ['complete', 'usage'],
  run: runConfigPath,
});

async function runConfigPath(context: Context): Promise<void> {
  context.stdout.stream.write(`${settingsPath(context.directories.config)}\n`);
}
