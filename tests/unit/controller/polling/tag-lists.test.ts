import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { type ListBudget, TagLists } from '../../../../controller/polling/tag-lists.ts';

/** A budget for a number of lists. */
function budgetOf(left: number): ListBudget {
  let lists = left;
  return {
    waitMs: () => (lists > 0 ? 0 : 60_000),
    take: () => {
      if (lists === 0) return false;
      lists -= 1;
      return true;
    },
  };
}

suite('lists of tags', () => {
  const named = { range: '~1', event: 'a request', eventAt: 0, isNamed: true };

  /** After a list that succeeded, and one that failed. */
  function afterFailure(left: number): TagLists {
    const lists = new TagLists(budgetOf(left));
    lists.begin([named], 1);
    lists.keep({ refs: new Map(), covered: new Set(['~1']) });
    lists.poll();
    assert.equal(lists.begin([named], 2), 'all tags');
    return lists;
  }

  test('are repeated after a failure as often as the budget allows, even if requests name tags', () => {
    const lists = afterFailure(3);
    const begun = [3, 4, 5].map((now) => lists.begin([named], now));
    assert.deepEqual(begun, ['all tags', 'named tags', 'named tags']);
  });

  test('are repeated by polls whatever the budget', () => {
    const lists = afterFailure(0);
    lists.poll();
    assert.equal(lists.begin([named], 3), 'all tags');
  });
});
