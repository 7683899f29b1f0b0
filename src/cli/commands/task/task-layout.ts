import { entityLayout, foundLayout } from '../../../columns/entity-layout.ts';
import type { Layout, LayoutOf } from '../../../columns/layout.ts';
import type { RecordOptions } from '../../options/record-options.ts';

/** The columns of a task that someone else may have created. A file that rows are added to has its header already. */
export function taskLayout({ append }: RecordOptions): Layout | LayoutOf {
  return append ? entityLayout() : foundLayout;
}
