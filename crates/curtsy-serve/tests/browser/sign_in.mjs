// Signing in and out.

import assert from "node:assert/strict";

export default async function signIn(walk, reader) {
  const { service, sites, token } = walk;
  const { page, watch } = reader;

  await walk.step("whoever is not signed in may look, and is told where to sign in", reader, async () => {
    await page.goto("/");
    assert.match(await page.locator("#orbits").innerText(), /There is no run yet\./);
    assert.ok(await page.getByRole("link", { name: `Ingest ${sites.lucia}` }).isVisible(), "the demonstration's site");
    await walk.look(page, "home-empty");
    await page.fill("#slug", "lucia");
    await page.click("#open-orbit");
    await page.waitForURL("**/orbit/lucia/import");
    assert.equal(await page.locator("#start").count(), 0);
    await walk.look(page, "import-signed-out");
    await page.click("#tab-history");
    assert.match(await page.locator("#history").innerText(), /There is no run yet\./);
    await walk.look(page, "history-empty");
    await page.goto("/admin/orbits/health");
    assert.equal(await page.locator("#check-now").count(), 0);
    await page.click("#sign-in-to-start");
    await page.waitForURL("**/login?next=*");
    await walk.look(page, "login");
  });

  await walk.step("a slug that is none is refused with a sentence, and what was typed is kept", reader, async () => {
    watch.expect(422);
    await page.goto("/");
    await page.fill("#slug", "Trattoria Lucia!");
    await page.click("#open-orbit");
    assert.match(await page.locator("#form-error").innerText(), /lower-case letters/);
    assert.equal(await page.inputValue("#slug"), "Trattoria Lucia!");
    await walk.look(page, "home-error");
  });

  await walk.step("a wrong token is refused with a sentence", reader, async () => {
    watch.expect(401);
    await page.goto("/login");
    await page.fill("#token", "not the token");
    await page.click("#login");
    assert.equal(await page.locator("#form-error").innerText(), "This is not the token of this service.");
    assert.equal(await page.locator("#token").getAttribute("aria-invalid"), "true");
    assert.equal(await page.inputValue("#token"), "", "a token is not sent back");
    await walk.look(page, "login-error");
  });

  await walk.step("a page that is not there says so", reader, async () => {
    watch.expect(404);
    await page.goto("/orbit/lucia/nothing");
    assert.equal(await page.locator("h1").innerText(), "Nothing here");
    await walk.look(page, "not-found");
    await page.goto(`/orbit/lucia/runs/${"0".repeat(32)}`);
    assert.match(await page.locator("#main").innerText(), /There is no such run\./);
  });

  await walk.step("the printed link signs in", reader, async () => {
    await page.goto(service.signIn);
    assert.equal(new URL(page.url()).pathname, "/");
    await page.locator("#sign-out").waitFor();
    assert.ok(!page.url().includes("code="), "the code does not stay in the address");
    const [cookie] = await reader.context.cookies();
    assert.deepEqual([cookie.httpOnly, cookie.sameSite], [true, "Strict"]);
  });

  const other = await walk.person(service.origin);
  await walk.step("the link does not work twice", other, async () => {
    other.watch.expect(401);
    await other.page.goto(service.signIn);
    assert.match(await other.page.locator("#form-error").innerText(), /This link was used already/);
    assert.equal(await other.page.locator("#sign-out").count(), 0);
    await walk.look(other.page, "login-link-used");
  });
  await other.context.close();

  await walk.step("signing out ends the session", reader, async () => {
    const [{ name, value }] = await reader.context.cookies();
    await page.click("#sign-out");
    await page.locator("#sign-in").waitFor();
    // The cookie is worth nothing afterwards, even to who kept it.
    await reader.context.addCookies([{ name, value, url: service.origin }]);
    await page.goto("/");
    assert.equal(await page.locator("#sign-out").count(), 0);
  });

  await walk.step("the token signs in and leads back to the page", reader, async () => {
    await page.goto("/orbit/lucia/import");
    await page.click("#sign-in-to-start");
    await page.fill("#token", token);
    await page.click("#login");
    await page.waitForURL("**/orbit/lucia/import*");
    await page.locator("#start").waitFor();
  });
}
