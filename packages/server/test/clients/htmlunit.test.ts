/** HtmlUnit, a browser without modules, at the page that posts the authorization response. The OpenID Foundation's suite uses HtmlUnit. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ClientHost, startClientHost } from '../support/client-host.ts'
import { type Grantor, startGrantor } from '../support/start.ts'
import { encode, requestOf, Walk } from '../support/walk.ts'
import { compileJava, startJava, whyNoMaven } from './maven.ts'

const HTMLUNIT = '<dependency><groupId>org.htmlunit</groupId><artifactId>htmlunit</artifactId></dependency>'

/** Opens a URL with a cookie, and prints the URL of the page at the end. The first argument switches scripts on. */
const BROWSER = `package browser;

import org.htmlunit.WebClient;
import org.htmlunit.html.HtmlPage;
import org.htmlunit.util.Cookie;

public class Browser {
  public static void main(String[] arguments) throws Exception {
    try (var client = new WebClient()) {
      client.getOptions().setJavaScriptEnabled(arguments[0].equals("script"));
      client.getOptions().setCssEnabled(false);
      for (int i = 2; i + 1 < arguments.length; i += 2)
        client.getCookieManager().addCookie(new Cookie("localhost", arguments[i], arguments[i + 1]));
      HtmlPage page = client.getPage(arguments[1]);
      client.waitForBackgroundJavaScript(5000);
      if (arguments[0].equals("button")) page = page.getHtmlElementById("continue").click();
      else page = (HtmlPage) client.getCurrentWindow().getEnclosedPage();
      System.out.println("opened " + page.getUrl());
    }
  }
}
`

const missing = process.env.TEST_CLIENTS ? whyNoMaven() : null

let grantor: Grantor
let app: ClientHost
let classPath: string

beforeAll(async () => {
  if (!process.env.TEST_CLIENTS || missing !== null) return
  classPath = compileJava(HTMLUNIT, { Browser: BROWSER })
  grantor = await startGrantor()
  app = await startClientHost((_, response) => {
    response.setHeader('content-type', 'text/html')
    response.end('<h1>The app</h1>')
  })
}, 600_000)
afterAll(async () => {
  await app?.close()
  await grantor?.close()
})

for (const how of ['script', 'button']) {
  test.runIf(process.env.TEST_CLIENTS)(
    `HtmlUnit posts the authorization response to the app, with the ${how} (OAuth 2.0 Form Post Response Mode §2)`,
    async (context) => {
      if (missing !== null) return context.skip(missing)
      app.requests.length = 0
      const client = await grantor.createClient({ redirectUris: [`${app.origin}/callback`] })
      const walk = new Walk(grantor)
      await walk.signIn(requestOf(client))
      const query = encode(requestOf(client, { response_mode: 'form_post', response_type: 'code', state: 's' }))
      const argv = [how, `${grantor.authUrl}/oauth/authorize?${query}`, ...[...walk.cookies].flat()]
      const { line, close } = await startJava(classPath, { main: 'browser.Browser', argv, until: /^opened / })
      await close()
      expect(line).toBe(`opened ${app.origin}/callback`)
      const posts = app.requests.filter(({ method }) => method === 'POST')
      expect(posts.map(({ body }) => Object.fromEntries(new URLSearchParams(body)))).toEqual([
        { code: expect.stringMatching(/^grc\./), state: 's', iss: grantor.authUrl },
      ])
    },
  )
}
