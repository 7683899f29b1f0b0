import { Command } from 'commander';
import { groups } from '../help.ts';
import { addConnectionOptions, addPaidOptions, addRecordOptions } from '../options/options.ts';
import { addRowsOptions } from '../options/rows.ts';
import type { Topic } from './topics.ts';

const { options } = addConnectionOptions(
  addPaidOptions(addRecordOptions(addRowsOptions(new Command(), 'the name of the field'))),
);

export const optionsTopic: Topic = {
  parts: [
    'Several commands take these options. The help of a command names those that it takes.',
    ...Object.values(groups).map((group) => ({
      heading: group.replace(/:$/, ''),
      rows: options
        .filter(({ helpGroupHeading }) => helpGroupHeading === group)
        .map(({ flags, description, argChoices }) => {
          const choices = argChoices === undefined ? '' : `; one of ${argChoices.join(', ')}`;
          return [flags, `${description}${choices}`] as const;
        }),
    })),
  ],
};
