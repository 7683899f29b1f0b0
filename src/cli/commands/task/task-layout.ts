import { entityLayout } from '../../../columns/entity-layout.ts';
import type { Layout, LayoutOf } from '../../../columns/layout.ts';
import { printedAs } from '../../../operations/kinds/kinds.ts';
import type { RecordOptions } from '../../options/record-options.ts';

/**
 * The columns of a task that someone else may have created: its first page shows which enrich fields it has. A file that rows are added to
 * has its header already.
 */
export function foundLayout({ append }: RecordOptions): Layout | LayoutOf {
  if (append) return entityLayout();
  return printedAs('task wait', {}).layout;
}
