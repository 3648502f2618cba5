# METADATA
# custom:
#   controls: [ac-2, "AC 3 (4)", "::error::x <script>[y](javascript:z)", "\u202edrawkcab\u0007 ` `` ``` | # ##[error]"]
package controls

# METADATA
# custom:
#   controls: [cm-7]
deny contains "never" if input.never == 1

# METADATA
# custom:
#   controls: not an array
deny_other contains "never" if input.never == 2
