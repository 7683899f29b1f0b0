import { entityLayout } from '../../../columns/entity-layout.ts';
import type { Layout, LayoutOf } from '../../../columns/layout.ts';
import { isPerson } from '../../../columns/record-parts.ts';
import { enrichFieldsOf } from '../../../operations/kinds/task-reading.ts';
import type { RecordOptions } from '../../options/record-options.ts';

/**
 * The columns of a task that someone else may have created: its first page shows which enrich fields it has. A file that rows are added to
 * has its header already.
 */
export function foundLayout({ append }: RecordOptions): Layout | LayoutOf {
  if (append) return entityLayout();
  return (records) => entityLayout(enrichFieldsOf(records), records.some(isPerson) ? 'person' : undefined);
}
