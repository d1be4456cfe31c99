import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { chooseAgentImage } from '../../../../controller/injection/choose-agent-image.ts';
import { gatewaySpecOf } from '../../../support/objects.ts';

function choose(image: object | undefined, allowedRepositories: string[] = [], defaultImage = 'reg.test:5000/agent:1') {
  const choice = chooseAgentImage(gatewaySpecOf(image ? { agent: { image } } : {}), {
    defaultImage,
    allowedRepositories,
  });
  return choice.kind === 'chosen' ? choice.image : choice.message;
}

const digest = `sha256:${'a'.repeat(64)}`;

suite('the image of the agent', () => {
  test('is the default one, except for the parts that the resource names', () => {
    assert.equal(choose(undefined), 'reg.test:5000/agent:1');
    assert.equal(choose({ tag: '2' }), 'reg.test:5000/agent:2');
    assert.equal(choose({ repository: 'mirror.test/agent' }), 'mirror.test/agent:1');
    assert.equal(choose({ repository: 'mirror.test/agent', tag: '2' }), 'mirror.test/agent:2');
    assert.equal(choose({ pullPolicy: 'Always' }), 'reg.test:5000/agent:1');
  });

  test('can be pinned by a digest, with and without a tag', () => {
    assert.equal(choose(undefined, [], `reg.test:5000/agent@${digest}`), `reg.test:5000/agent@${digest}`);
    assert.equal(choose({ tag: '2' }, [], `reg.test:5000/agent@${digest}`), 'reg.test:5000/agent:2');
    assert.equal(choose({ repository: 'm.test/a' }, [], `agent:1@${digest}`), `m.test/a:1@${digest}`);
    assert.equal(choose(undefined, [], 'agent'), 'agent:latest');
  });

  test('has to come from an allowed repository if there is a list', () => {
    const allowed = ['mirror.test/agent', 'team.test/tools/*'];
    assert.equal(choose({ repository: 'mirror.test/agent' }, allowed), 'mirror.test/agent:1');
    assert.equal(choose({ repository: 'team.test/tools/x/agent' }, allowed), 'team.test/tools/x/agent:1');
    assert.equal(choose({ tag: '7' }, allowed), 'reg.test:5000/agent:7');
    for (const repository of ['evil.test/agent', 'mirror.test/agent-x', 'team.test/toolsx/agent', 'team.test/tools'])
      assert.match(choose({ repository }, allowed), / reg\.test:5000\/agent, mirror\.test/);
    const named = choose({ repository: 'evil.test/agent' }, ['reg.test:5000/agent']);
    assert.equal(named.split('reg.test:5000/agent').length, 2, 'once, though the list repeats the default');
  });
});
