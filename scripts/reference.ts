/** Makes the output of `help --json`, and its JSON Schema, from the definitions of the help texts. */
import type { Argument, Command, Option } from 'commander';
import { toExitCodes } from '../src/cli/exit-codes.ts';
import { helpOf, outcomesOf } from '../src/cli/help.ts';
import { optionFactsOf } from '../src/cli/options/facts.ts';
import { optionsOf, takesValue } from '../src/cli/options/leading.ts';

/** Types of option values, by their name in the usage. All others are text. */
const types = {
  n: 'integer',
  credits: 'integer',
  seconds: 'number',
  file: 'file',
  folder: 'folder',
  url: 'url',
  ids: 'list',
  names: 'list',
  'dot.paths': 'list',
  'switch=value': 'list',
  'name:type=meaning': 'list',
} as const;

/** Pure: the description of a command (or the program) and its subcommands. */
export function toReference(command: Command): object {
  const help = helpOf(command);
  const isGroup = command.commands.length > 0;
  return {
    command: nameOf(command),
    summary: command.summary() || command.description(),
    description: command.description(),
    usage: `${nameOf(command)} ${command.usage()}`,
    arguments: command.registeredArguments.map(toArgument),
    options: optionsOf(command).map(toOption),
    exit_codes: toExitCodes(outcomesOf(command)).map(({ code, meaning }) => ({ code, meaning })),
    output: {
      shape: help?.output ?? [],
      columns: help?.columns?.() ?? null,
      more_columns: help?.moreColumns ?? null,
    },
    cost: isGroup
      ? null
      : {
          free: help?.cost === undefined,
          text: help?.cost?.text ?? 'nothing',
          settings: help?.cost?.settings ?? [],
        },
    examples: help?.examples ?? [],
    commands: command.commands.map(toReference),
  };
}

function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`;
}

function toArgument(argument: Argument) {
  const { argChoices, description, required, variadic } = argument;
  return { name: argument.name(), required, variadic, values: argChoices ?? null, description };
}

function toOption(option: Option) {
  const { default: value = null, defaultText = null, variable = null, settings = [] } = optionFactsOf(option);
  const [, placeholder = ''] = /[<[]([^\]>]+)/.exec(option.flags) ?? [];
  return {
    flags: option.flags,
    name: option.long,
    short: option.short ?? null,
    type: takesValue(option) ? ((types as Record<string, string>)[placeholder] ?? 'text') : 'boolean',
    default: takesValue(option) ? value : false,
    default_text: defaultText,
    values: option.argChoices ?? null,
    environment_variable: variable,
    settings,
    group: (option.helpGroupHeading ?? 'Options:').replace(/:$/, ''),
    description: option.description,
  };
}

const text = { type: 'string' };
const textOrNull = { type: ['string', 'null'] };
const texts = { type: 'array', items: text };

/** The schema of an object with exactly these members. */
function exactly(properties: Readonly<Record<string, object>>, more: object = {}) {
  return {
    ...more,
    type: 'object',
    required: Object.keys(properties),
    additionalProperties: false,
    properties,
  };
}

export const referenceSchema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'Output of `leadpipe help --json`: one command, with all its subcommands',
  $ref: '#/$defs/command',
  $defs: {
    command: exactly({
      command: { ...text, description: 'the words to type; the first command is leadpipe itself' },
      summary: text,
      description: text,
      usage: text,
      arguments: { type: 'array', items: { $ref: '#/$defs/argument' } },
      options: { type: 'array', items: { $ref: '#/$defs/option' } },
      exit_codes: {
        type: 'array',
        items: exactly({ code: { type: 'integer', minimum: 0, maximum: 255 }, meaning: text }),
      },
      output: exactly({
        shape: { ...texts, description: 'what it prints, in lines for people' },
        columns: {
          description: 'the columns of CSV; null if it prints no records',
          oneOf: [texts, { type: 'null' }],
        },
        more_columns: { ...textOrNull, description: 'the columns that depend on the request, in words' },
      }),
      cost: {
        description: 'null for a command that only has subcommands',
        oneOf: [
          exactly({
            free: { type: 'boolean' },
            text: { ...text, description: 'what it costs; with --local nothing costs anything' },
            settings: { ...texts, description: 'the settings that tell leadpipe the price' },
          }),
          { type: 'null' },
        ],
      },
      examples: texts,
      commands: { type: 'array', items: { $ref: '#/$defs/command' } },
    }),
    argument: exactly({
      name: text,
      required: { type: 'boolean' },
      variadic: { type: 'boolean' },
      values: { description: 'the values that it can have', oneOf: [texts, { type: 'null' }] },
      description: text,
    }),
    option: exactly({
      flags: text,
      name: { ...text, pattern: '^--[a-z-]+$' },
      short: { ...textOrNull, pattern: '^-[A-Za-z]$' },
      type: {
        description: 'list: the option can be given several times; boolean: it takes no value',
        enum: ['boolean', 'text', ...new Set(Object.values(types))],
      },
      default: { type: ['string', 'number', 'boolean', 'null'] },
      default_text: { ...textOrNull, description: 'the default in words, where it depends on something' },
      values: { oneOf: [texts, { type: 'null' }] },
      environment_variable: { ...textOrNull, description: 'read if the option is not given' },
      settings: { ...texts, description: 'read if neither the option nor the variable is given' },
      group: text,
      description: text,
    }),
  },
};
