import { type User, type Vote, Voter } from 'declarest';
import type { SampleItem } from '../models/sample-item.ts';

/** Every user reads. Editors write, unless the row is archived. Administrators always write. */
export class SampleItemVoter extends Voter<SampleItem> {
  static override roles = ['SAMPLE_ITEM_READ', 'SAMPLE_ITEM_WRITE'];

  /** The row is null for lists and for new rows. */
  override vote(role: string, row: SampleItem | null, user: User | null): Vote {
    if (!user) return 'deny';
    if (role === 'SAMPLE_ITEM_READ' || user.roles.includes('ROLE_ADMIN')) return 'grant';
    return user.roles.includes('ROLE_EDITOR') && !row?.archived ? 'grant' : 'deny';
  }
}
