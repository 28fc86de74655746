/** OAuth 2.0 Form Post Response Mode §2. A classic script in ECMAScript 5, so that old browsers and HtmlUnit run it too. */
if (document.forms[0]) document.forms[0].submit()
