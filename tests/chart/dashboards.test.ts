import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { slow } from '../support/depth.ts';
import { type Dashboard, type Panel, queriesOf, readDashboards } from './support/dashboards.ts';
import { pick, render } from './support/render.ts';

const dashboards = await readDashboards();

/** Returns the names of variables that a user selects or that Grafana provides. */
const variablesIn = (text: string) => [...text.matchAll(/\$\{?(\w+)/g)].map(([, name = '']) => name);

const overlap = ({ gridPos: a }: Panel, { gridPos: b }: Panel) =>
  a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

test('the chart has a dashboard of the fleet and one of a single GatewaySync', () => {
  assert.deepEqual(
    dashboards.map(({ file }) => file),
    ['fleet-overview.json', 'gatewaysync-detail.json'],
  );
  assert.equal(new Set(dashboards.map(({ uid }) => uid)).size, dashboards.length);
  for (const { uid } of dashboards) assert.match(uid, /^[a-z-]{1,40}$/);
});

for (const dashboard of dashboards) checkStructure(dashboard);

function checkStructure(dashboard: Dashboard): void {
  const { file, panels, templating } = dashboard;
  const shown = panels.filter(({ type }) => type !== 'row');

  suite(`the dashboard ${file}`, () => {
    test("has panels with unique IDs that don't overlap and begin with a row", () => {
      assert.equal(panels[0]?.type, 'row');
      assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length);
      for (const [index, panel] of panels.entries()) {
        const { x, w } = panel.gridPos;
        assert.ok(x >= 0 && x + w <= 24, `${panel.title} is wider than the dashboard`);
        for (const other of panels.slice(index + 1)) {
          assert.ok(!overlap(panel, other), `${panel.title} lies on ${other.title}`);
        }
      }
    });

    test('queries only the chosen data source', () => {
      const sources = JSON.stringify([panels, templating]).matchAll(/"datasource":(\{[^}]*\})/g);
      const chosen = '{"type":"prometheus","uid":"$datasource"}';
      assert.deepEqual([...new Set([...sources].map(([, source]) => source))], [chosen]);
    });

    test('defines all variables that it uses, and no others', () => {
      const text = JSON.stringify(dashboard);
      const used = new Set(variablesIn(text).filter((name) => !name.startsWith('__')));
      const defined = new Set(templating.list.map(({ name }) => name));
      assert.deepEqual([...used].sort(), [...defined].sort());
    });

    test('has no query with a fixed namespace, resource, pod, or job', () => {
      for (const { expr, where } of queriesOf(dashboard)) {
        const fixed = /\b(namespace|name|pod|job|instance|cluster)\s*(=|!=|=~|!~)\s*"[^$"]/.exec(expr);
        assert.equal(fixed, null, where);
      }
    });

    test('shows only current, measured numbers', () => {
      for (const { expr, where, panel, instant } of queriesOf(dashboard)) {
        assert.doesNotMatch(expr, /vector\(/, where);
        if (panel.type === 'stat') assert.ok(instant, where);
      }
      for (const { title, type, fieldConfig } of shown) {
        if (type !== 'stat') continue;
        const absent = fieldConfig?.defaults.mappings?.find(({ options }) => options.match === 'null+nan');
        assert.ok(absent?.options.result?.text, `${title} does not say that there is no data`);
      }
    });

    test('gives the series of a panel different legends', () => {
      for (const { title, type, targets = [] } of shown) {
        if (type === 'table' || targets.length < 2) continue;
        assert.equal(new Set(targets.map(({ legendFormat }) => legendFormat)).size, targets.length, title);
      }
    });
  });
}

test('one ConfigMap contains both dashboards with the labels that Grafana looks for', async () => {
  const values = { namespace: 'grafana', labels: { team: 'a' }, annotations: { grafana_folder: 'Git' } };
  const objects = await render({ grafanaDashboard: { enabled: true, ...values } });
  const { metadata, data } = pick(objects, 'ConfigMap', '-dashboards');
  assert.equal(metadata.namespace, 'grafana');
  assert.equal(metadata.labels?.grafana_dashboard, '1');
  assert.equal(metadata.labels?.team, 'a');
  assert.deepEqual(metadata.annotations, { grafana_folder: 'Git' });
  const held = Object.entries<string>(data).map(([key, json]) => [key, JSON.parse(json)]);
  assert.deepEqual(
    Object.fromEntries(held),
    Object.fromEntries(dashboards.map(({ file, ...model }) => [`stoker-operator-${file}`, model])),
  );
  // The annotation that kubectl stores can't be longer.
  assert.ok(JSON.stringify(data).length < 262_144);
});

test('the certificate tile turns red if the renewal is late, even for a short lifetime', slow, async () => {
  const thresholds = async (certManager: object) => {
    const objects = await render({ grafanaDashboard: { enabled: true }, certManager });
    const { data } = pick(objects, 'ConfigMap', '-dashboards');
    const { panels } = JSON.parse(data['stoker-operator-fleet-overview.json']) as Dashboard;
    const tile = panels.find(({ title }) => title === 'Webhook certificate expires in');
    return tile?.fieldConfig?.defaults.thresholds?.steps.map(({ color, value }) => [color, value]);
  };
  const hour = 3_600;
  const day = 86_400;
  const colours = (yellow: number, green: number) => [
    ['red', null],
    ['yellow', yellow],
    ['green', green],
  ];
  assert.deepEqual(await thresholds({}), colours(7 * day, 14 * day));
  assert.deepEqual(await thresholds({ duration: '24h' }), colours(4 * hour, 8 * hour));
  assert.deepEqual(await thresholds({ duration: '24h', renewBefore: '1s' }), colours(60, 120));
});
