import { isLocked } from '../../files/folder-lock.ts';
import { folderOf, readOperations, type StoredOperation } from '../journal/journal.ts';
import type { AnswerKind, listKinds } from '../kinds.ts';
import { isSameBuyer, type OutputTerms, type Shop } from '../purchase.ts';
import { rowRequestOf, toRowRequestText } from '../row-request.ts';
import { isUnfinished } from './unfinished.ts';

/** Stands in for operations/earlier.ts until that is there. */
export interface Wanted {
  readonly kind: (typeof listKinds)[AnswerKind];
  readonly request: string;
  readonly terms: OutputTerms;
  readonly run?: string | undefined;
}

export type Earlier =
  | {
      readonly is: 'new';
      readonly alike?: StoredOperation | undefined;
      readonly answers?: readonly StoredOperation[];
    }
  | {
      readonly is: 'go_on';
      readonly operation: StoredOperation;
      readonly answers?: readonly StoredOperation[];
    };

const form = ['format', 'append', 'columns', 'csv_raw', 'into', 'shard'];

export async function findEarlier(
  shop: Shop,
  { kind, request, terms, run }: Wanted,
  hasRow: (operation: StoredOperation) => Promise<boolean>,
): Promise<Earlier> {
  const { state } = shop.context.directories;
  const { operations } = await readOperations(state);
  const same = operations.filter((operation) => {
    const [intent] = operation.entries;
    const known = intent.command === kind ? rowRequestOf(intent) : undefined;
    return (
      known !== undefined &&
      toRowRequestText(known) === request &&
      isSameBuyer(shop, operation) &&
      (intent.options.run ?? undefined) === run
    );
  });
  const shapeOf = ({ output, options }: OutputTerms): string =>
    JSON.stringify([output, form.map((name) => options[name] ?? null)]);
  const inPlace = same.filter(({ entries: [intent] }) => shapeOf(intent) === shapeOf(terms)).reverse();
  if (run !== undefined) {
    for (const operation of inPlace) {
      if (terms.output === null && (await isLocked(folderOf(state, operation.operationId)))) continue;
      return { is: 'go_on', operation, answers: same.filter((one) => one !== operation) };
    }
    return { is: 'new', answers: same };
  }
  const open = inPlace.filter(isUnfinished);
  if (terms.output === null) return { is: 'new', alike: open[0] };
  for (const operation of open) if (await hasRow(operation)) return { is: 'go_on', operation };
  return { is: 'new' };
}
