import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { diagnose } from '../../../../cli/checks/diagnose.ts';
import type { Finding } from '../../../../cli/checks/finding.ts';
import { wrap } from '../../../../cli/terminal/text.ts';
import { drawDiagnosis } from '../../../../cli/views/draw-doctor.ts';
import { slow } from '../../../support/depth.ts';
import type { Change } from './changes.ts';
import { inOrder, type Loose, NOON, partsOf, seen } from './in-order.ts';

function diagnosed(change: Change) {
  const survey: Loose = inOrder();
  change(partsOf(survey));
  return diagnose(survey);
}

const found = (check: string, change: Change): Finding | undefined =>
  diagnosed(change)
    .sections.flatMap(({ findings }) => findings)
    .find((each) => each.check === check);

const LONG = 'long '.repeat(300_000);
const RED = '\u001b[31m\u009b2J\u202e';

suite('the output of doctor about untrusted content', () => {
  test('has at most the first two thousand characters of a text', () => {
    const event = { reason: 'FailedCreate', message: `sync agent: ${LONG}`, lastTimestamp: NOON };
    const denied = found('namespace/denied', ({ namespace }) => {
      namespace.events = seen([{ ...event, involvedObject: { kind: 'StatefulSet', name: 'x' } }]);
    });
    assert.equal(denied?.says.length, 2_000);
    assert.match(denied?.says ?? '', / StatefulSet x .*: long .*…$/);
  });

  test('is never cut within a character', () => {
    for (const start of ['', 'x']) {
      const inject = found('pod/inject', ({ pod }) => {
        pod.metadata.annotations['sync.io/inject'] = start + '😀'.repeat(2_000);
      });
      assert.ok(inject?.says.isWellFormed());
    }
  });

  test('lists twenty resources to choose from, and the number of others', () => {
    const pod = found('pod/cr-name', ({ namespace, resource, pod }) => {
      const named = (index: number) => ({ ...resource, metadata: { ...resource.metadata, name: `line-${index}` } });
      namespace.gatewaySyncs = seen(Array.from({ length: 500 }, (_, index) => named(index)));
      pod.metadata.annotations = { 'sync.io/inject': 'true' };
    });
    assert.match(pod?.todo ?? '', / line-0, .*, line-19 \D*480 .* sync\.io\/cr-name$/);
  });

  test('has no terminal control characters', () => {
    const condition = { type: `Odd${RED}`, status: 'False', reason: `Odd${RED}`, message: RED };
    const diagnosis = diagnosed(({ resource, pod, namespace }) => {
      resource.status.conditions = [condition];
      resource.status.lastRequest = { ref: RED, outcome: 'Failed', message: RED };
      pod.metadata.annotations['sync.io/inject'] = RED;
      pod.status.containerStatuses = [{ name: 'x', state: { waiting: { reason: RED, message: RED } } }];
      const involvedObject = { kind: RED, name: RED };
      namespace.events = seen([{ reason: 'FailedCreate', message: `sync agent: ${RED}`, involvedObject }]);
    });
    for (const columns of [undefined, 60]) {
      const lines = drawDiagnosis(diagnosis, { columns, hasColours: false } as Loose);
      assert.ok(lines.every((line) => line.length <= (columns ?? 1_000) || line.includes('.md')));
      const drawn = lines.join('\n');
      assert.match(drawn, /Odd\ufffd/);
      assert.doesNotMatch(drawn, /(?!\n)\p{Cc}|\p{Bidi_Control}/u);
    }
  });

  test('shows an outcome that only a newer controller knows', () => {
    const request = found('gatewaysync/request', ({ resource }) => {
      resource.status.lastRequest = { ref: 'v1', outcome: 'Deferred', message: 'until noon' };
    });
    assert.equal(request?.level, 'warning');
    assert.match(request?.says ?? '', / v1, .* Deferred: until noon$/);
  });
});

test('a word of millions of characters is wrapped', slow, () => {
  const lines = wrap('x'.repeat(5_000_000), 20);
  assert.equal(lines.length, 250_000);
  assert.equal(lines.at(-1), 'x'.repeat(20));
});
