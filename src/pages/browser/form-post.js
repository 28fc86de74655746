/** OAuth 2.0 Form Post Response Mode §2 */
document.forms[0]?.requestSubmit()
