const LOOPBACK = ['127.0.0.1', '::1', '::ffff:127.0.0.1'];

module.exports = {
  flowFile: 'flows.json',
  disableEditor: true,
  httpAdminRoot: '/admin',
  // Only the agent in this pod, and users who are allowed to use kubectl port-forward, can use the admin API.
  httpAdminMiddleware: (request, response, next) =>
    LOOPBACK.includes(request.socket.remoteAddress) ? next() : response.sendStatus(403),
};
