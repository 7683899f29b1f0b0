import type { Option } from 'commander';
import type { SettingName } from '../../config/settings.ts';

/** What is true of an option besides its description. Commander has its own words for some of this, and would act on them. */
export interface OptionFacts {
  /** What holds where the option is not given. */
  readonly default?: number | string;
  /** The same in words, where it depends on something else. */
  readonly defaultText?: string;
  /** The environment variable that is read where the option is not given. */
  readonly variable?: string;
  /** The settings of the profile that are read where neither is given. */
  readonly settings?: readonly SettingName[];
  /** Of an option that several commands share: explained in the help of each of them, and not only named there. */
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

/** Pure: an option in words, for helps and the manual page. */
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
