// Who may import whom: docs/architecture.md explains the directions that these rules hold.
const programs = ['receiver', 'controller', 'agent'];

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'shared-imports-no-program',
      severity: 'error',
      from: { path: '^shared/' },
      to: { path: `^(${programs.join('|')}|scripts|tests)/` },
    },
    ...programs.map((program) => ({
      name: `${program}-imports-no-other-program`,
      severity: 'error',
      from: { path: `^${program}/` },
      to: { path: `^(${programs.filter((other) => other !== program).join('|')}|scripts|tests)/` },
    })),
    {
      name: 'domain-is-pure',
      comment:
        'domain/ holds no clock, environment, logger or network: it may import shared/api, domain/ and pure libraries',
      severity: 'error',
      from: { path: '(^|/)domain/' },
      to: {
        pathNot:
          '(^|/)domain/|^shared/api/|^shared/errors\\.ts$|node_modules/(valibot|picomatch)/|^(node:)?(crypto|path|path/posix|buffer)$',
      },
    },
    {
      name: 'api-is-pure',
      severity: 'error',
      from: { path: '^shared/api/' },
      to: { pathNot: '^shared/(api|domain)/|node_modules/valibot/' },
    },
    {
      name: 'http-errors-stay-in-routes',
      comment: 'h3 is known to routes, apps and the place that listens',
      severity: 'error',
      from: { path: '^(receiver|controller|agent|shared)/', pathNot: '/routes/|/app\\.ts$|^shared/io/http/' },
      to: { path: 'node_modules/(h3|listhen)/' },
    },
  ],
  options: {
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^(dist|node_modules)/' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
      mainFields: ['module', 'main'],
    },
  },
};
