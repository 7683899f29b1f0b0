import type { Topic } from './topics.ts';

export const environmentTopic: Topic = {
  parts: [
    'If a value is given in several places, leadpipe uses the option; else the variable; else the setting of the profile; else the built-in default. `leadpipe config list` shows which value is used, and where it comes from. Nothing is read from the folder that you are in.',
    {
      heading: 'Variables of leadpipe',
      rows: [
        ['LEADPIPE_API_KEY', 'the API key; it is used instead of a stored one'],
        ['LEADPIPE_BASE_URL', 'the address of the service (option --base-url)'],
        ['LEADPIPE_PROFILE', 'the profile to use (option --profile)'],
        ['LEADPIPE_CREDENTIAL_STORE', 'where `auth login` stores keys: keychain or file'],
        ['LEADPIPE_CONFIG_DIR', 'the folder of the settings, and of keys stored in a file'],
        ['LEADPIPE_STATE_DIR', 'the folder of the history: purchases, answers, leads, lists'],
      ],
    },
    {
      heading: 'Variables that other programs use too',
      rows: [
        ['NO_COLOR', 'if set, no colours'],
        ['FORCE_COLOR', 'if set, tables and messages are coloured in files and pipes too'],
        ['COLUMNS', 'the width of a table that does not go to a terminal'],
        ['TZ', 'the time zone of the times that are shown, such as Europe/Berlin'],
        [
          'HTTPS_PROXY, ALL_PROXY, HTTP_PROXY',
          'the proxy: the first of these that is set (lower case works too)',
        ],
        ['NO_PROXY', 'hosts that are reached without the proxy'],
        ['NODE_EXTRA_CA_CERTS', 'a PEM file with certificates of your own authority'],
        ['JOB_COMPLETION_INDEX, SLURM_ARRAY_TASK_ID', 'the number of this job, for --shard auto'],
      ],
    },
    {
      heading: 'Files, on Linux (elsewhere: see leadpipe doctor)',
      rows: [
        ['~/.config/leadpipe/config.json', 'settings of each profile; no keys'],
        [
          '~/.config/leadpipe/credentials.json',
          'where each key is stored, and the keys if there is no keychain',
        ],
        ['~/.local/state/leadpipe/', 'the history; answers and leads are stored there'],
        ['~/.cache/leadpipe/', 'what Node keeps compiled, from Node 22.8 on; it can be removed'],
      ],
    },
    'Only you can read these files and folders (0600 and 0700).',
  ],
};
