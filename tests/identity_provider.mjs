// A real identity provider for tests: node identity_provider.mjs FOLDER ISSUER REDIRECT
// Whoever signs in is who they say they are; the part of the name before a dash is their group.

const [folder, issuer, redirect] = process.argv.slice(2);
const { Provider } = await import(`${folder}/node_modules/oidc-provider/lib/index.js`);

const provider = new Provider(issuer, {
  clients: [
    { client_id: "errorfloor", client_secret: "s".repeat(40), redirect_uris: [redirect] },
    { client_id: "public", token_endpoint_auth_method: "none", redirect_uris: [redirect] },
  ],
  claims: { openid: ["sub", "groups"] },
  conformIdTokenClaims: false,
  pkce: { required: () => true },
  cookies: { keys: ["for tests alone"] },
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, groups: [id.split("-")[0]] }),
  }),
  loadExistingGrant: async (ctx) => {
    const grant = new ctx.oidc.provider.Grant({
      clientId: ctx.oidc.client.clientId,
      accountId: ctx.oidc.session.accountId,
    });
    grant.addOIDCScope("openid");
    await grant.save();
    return grant;
  },
});
provider.listen(new URL(issuer).port, "127.0.0.1", () => console.log("ready"));
