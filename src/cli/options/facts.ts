import type { Option } from 'commander';
import type { SettingName } from '../../config/settings.ts';

/** Facts about an option for the help. Commander's own fields for some of them would also change its behaviour. */
export interface OptionFacts {
  /** The default value. */
  readonly default?: number | string;
  /** The default in words, if it varies. */
  readonly defaultText?: string;
  /** The environment variable that is read if the option is not given. */
  readonly variable?: string;
  /** The settings of the profile that are read if neither is given. */
  readonly settings?: readonly SettingName[];
  /** For a shared option: the help of each command explains it, and does not only name it. */
  readonly common?: true;
}

const known = new WeakMap<Option, OptionFacts>();

export function withFacts(option: Option, facts: OptionFacts): Option {
  known.set(option, facts);
  return option;
}

export function optionFactsOf(option: Option): OptionFacts {
  const { defaultValue } = option;
  return { ...(defaultValue !== undefined && { default: defaultValue }), ...known.get(option) };
}

/** Pure: the description of an option, for help texts and the manual page. */
export function toOptionText(option: Option): string {
  const { default: value, defaultText, variable } = optionFactsOf(option);
  const values = option.argChoices === undefined ? '' : `: ${option.argChoices.join(', ')}`;
  const shown = defaultText ?? value;
  const notes = [
    ...(shown === undefined || option.negate ? [] : [`default: ${shown}`]),
    ...(variable === undefined ? [] : [`or ${variable}`]),
  ];
  return `${option.description}${values}${notes.length === 0 ? '' : ` (${notes.join('; ')})`}`;
}
