# escape=`
FROM a
RUN a `
b \
